// hexOf(): bytes as hexadecimal text.
#ifndef TILEWRIGHT_SUPPORT_HEX_H
#define TILEWRIGHT_SUPPORT_HEX_H

#include <cstddef>
#include <span>
#include <string>

namespace tilewright {

/// Two lower-case hexadecimal digits for each byte.
inline std::string hexOf(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::byte byte : bytes) {
    text += digits[std::to_integer<int>(byte >> 4)];
    text += digits[std::to_integer<int>(byte & std::byte(15))];
  }
  return text;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_HEX_H
