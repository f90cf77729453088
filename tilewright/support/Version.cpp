#include "tilewright/support/Version.h"

namespace tilewright {

std::string_view version() { return TILEWRIGHT_VERSION; }

} // namespace tilewright
