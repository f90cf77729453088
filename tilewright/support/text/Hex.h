// Hexadecimal text of bytes and numbers.
#ifndef TILEWRIGHT_SUPPORT_TEXT_HEX_H
#define TILEWRIGHT_SUPPORT_TEXT_HEX_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tilewright {

enum class HexCase { lower, upper };

/// The last `digits` hexadecimal digits of a number, with leading zeros.
inline std::string hexDigits(uint64_t value, unsigned digits, HexCase letters = HexCase::lower) {
  const char *all = letters == HexCase::lower ? "0123456789abcdef" : "0123456789ABCDEF";
  std::string text(digits, '0');
  for (unsigned i = 0; i < digits && i < 16; ++i)
    text[digits - 1 - i] = all[value >> (4 * i) & 15];
  return text;
}

/// A number as in C: "0x7f", "0x0".
inline std::string hexNumber(uint64_t value) {
  const auto digits = static_cast<unsigned>(std::bit_width(value | 1) + 3) / 4;
  return "0x" + hexDigits(value, digits);
}

/// Two lower-case hexadecimal digits for each byte.
inline std::string hexOf(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte byte : bytes)
    text += hexDigits(std::to_integer<uint64_t>(byte), 2);
  return text;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TEXT_HEX_H
