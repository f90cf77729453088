// buildId(): which build of Tilewright this is.
#ifndef TILEWRIGHT_SUPPORT_BUILDID_H
#define TILEWRIGHT_SUPPORT_BUILDID_H

#include <string>

namespace tilewright {

/// The linker's hash (-Wl,--build-id) of the program or library that contains the code at
/// `address`, in hexadecimal. Builds with different code have different hashes, even if their
/// version is the same. Empty if the linker did not write one.
std::string buildIdOf(const void *address);

/// buildIdOf() for the program or library that contains this function.
std::string buildId();

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_BUILDID_H
