// explainTuning(): prints a tuning file.
#ifndef TOOLS_TILEWRIGHT_TUNE_H
#define TOOLS_TILEWRIGHT_TUNE_H

#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::tools {

/// Prints each measured product: the times, the candidate that programs with these options use, why
/// others lost, and which are absent.
///  - optionValue (E0002): the file is not a tuning file.
Status explainTuning(const std::string &path, const Options &options);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_TUNE_H
