// The steps of an executable in the order in which they run, as a picture.
#ifndef TOOLS_TILEWRIGHT_PICTURES_PLANPICTURE_H
#define TOOLS_TILEWRIGHT_PICTURES_PLANPICTURE_H

#include "tilewright/artifact/Executable.h"

#include <string>

namespace tilewright::tools {

/// Whether the compiler estimated how long any of its kernels takes.
bool hasEstimates(const artifact::Executable &executable);

/// An SVG: a row for each kind of step (kernels, library calls, copies, collectives, control flow),
/// time from left to right. A kernel's width is its estimated time on one thread; all other steps
/// have the same width. The body of a loop or branch is drawn once, after it.
std::string planPicture(const artifact::Executable &executable);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_PLANPICTURE_H
