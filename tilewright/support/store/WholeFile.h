// readWholeFile(): the bytes of a file.
#ifndef TILEWRIGHT_SUPPORT_STORE_WHOLEFILE_H
#define TILEWRIGHT_SUPPORT_STORE_WHOLEFILE_H

#include <optional>
#include <string>

namespace tilewright {

/// Reads a regular file, a pipe or a file of /proc; nullopt if it cannot be opened or is a folder,
/// which streams open and then throw.
std::optional<std::string> readWholeFile(const std::string &path);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_STORE_WHOLEFILE_H
