// Queries on the list of options: which exist, and which one a misspelt name probably means.
#ifndef TILEWRIGHT_SUPPORT_OPTIONNAMES_H
#define TILEWRIGHT_SUPPORT_OPTIONNAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Whether an option is a bool, so that its name alone means true.
bool isSwitch(std::string_view option);

/// Describes the options whose names contain `part`, as text for a terminal; empty if there are
/// none.
std::string describeOptions(std::string_view part);

/// A warning for each unknown variable of `environment` ("NAME=value", null at the end) that begins
/// with TILEWRIGHT_ and resembles a known variable or the name of an option.
std::vector<std::string> misspeltVariables(const char *const *environment);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_OPTIONNAMES_H
