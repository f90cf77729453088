// The memory of a program over its plan, as a table and as a picture.
#ifndef TOOLS_TILEWRIGHT_MEMORYPICTURE_H
#define TOOLS_TILEWRIGHT_MEMORYPICTURE_H

#include "tilewright/artifact/MemoryTimeline.h"

#include <string>

namespace tilewright::tools {

/// Who holds the temporaries at the peak: bytes, steps from first to last use, maker, source line.
std::string memoryTable(const artifact::Executable &executable,
                        const artifact::MemoryTimeline &memory);

/// An SVG of two panels over the steps of the plan: above, the bytes alive; below, the arena, where
/// each buffer is a rectangle from its first to its last use. Holders of the peak have colours and
/// are listed beside; pointing at a rectangle names its maker.
std::string memoryPicture(const artifact::Executable &executable,
                          const artifact::MemoryTimeline &memory);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_MEMORYPICTURE_H
