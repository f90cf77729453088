#include "tilewright/import/bytecode/Version.h"

#include <charconv>

namespace tilewright::bytecode {

/// Removes an unsigned number from the front of `text`.
static std::optional<uint16_t> takeNumber(std::string_view &text) {
  uint16_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<Version> Version::parse(std::string_view text) {
  uint16_t parts[3] = {};
  size_t count = 0;
  while (true) {
    std::optional<uint16_t> part = takeNumber(text);
    if (!part)
      return std::nullopt;
    parts[count++] = *part;
    if (text.empty())
      break;
    if (count == 3 || text[0] != '.')
      return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2)
    return std::nullopt;
  return Version{parts[0], parts[1]};
}

unsigned bytecodeVersionFor(Version version) {
  if (version < Version{0, 10})
    return 0;
  if (version < Version{0, 12})
    return 1;
  if (version < Version{0, 14})
    return 3;
  if (version < Version{0, 15})
    return 4;
  return 6;
}

} // namespace tilewright::bytecode
