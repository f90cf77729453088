// The memory of a program over the steps of its plan, as a table and as a picture.
#ifndef TOOLS_TILEWRIGHT_PICTURES_MEMORYPICTURE_H
#define TOOLS_TILEWRIGHT_PICTURES_MEMORYPICTURE_H

#include "tilewright/artifact/MemoryTimeline.h"

#include <string>

namespace tilewright::tools {

/// A table of the temporaries that are alive at the peak: bytes, steps from first to last use, the
/// op that created them, source line.
std::string memoryTable(const artifact::Executable &executable,
                        const artifact::MemoryTimeline &memory);

/// An SVG of two panels over the steps of the plan: the live bytes above, the arena below, where
/// each buffer is a rectangle from its first to its last use. Buffers that are alive at the peak
/// are coloured and listed in the legend; the tooltip of a rectangle names the op that created the
/// buffer.
std::string memoryPicture(const artifact::Executable &executable,
                          const artifact::MemoryTimeline &memory);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_MEMORYPICTURE_H
