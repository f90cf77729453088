// The version of this build, from python/tilewright/version.py.
#ifndef TILEWRIGHT_SUPPORT_VERSION_H
#define TILEWRIGHT_SUPPORT_VERSION_H

#include <string_view>

namespace tilewright {

/// "0.1.0"
std::string_view version();

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_VERSION_H
