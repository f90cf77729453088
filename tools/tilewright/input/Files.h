// Reads and writes whole files; failures name the file and the reason.
#ifndef TOOLS_TILEWRIGHT_INPUT_FILES_H
#define TOOLS_TILEWRIGHT_INPUT_FILES_H

#include "tilewright/support/Status.h"

#include <initializer_list>
#include <span>
#include <string>

namespace tilewright::tools {

/// - fileUnreadable: the message contains the operating system's reason.
Result<std::string> readFile(const std::string &path);

/// Writes the concatenated pieces to a temporary file next to `path` and renames it, so that a
/// reader never sees half a file. Devices and pipes are written in place; the file that a link
/// names is replaced, not the link.
/// - fileUnwritable: the message contains the operating system's reason; the temporary file is
///   removed.
Status writeFile(const std::string &path, std::initializer_list<std::span<const std::byte>> pieces);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_INPUT_FILES_H
