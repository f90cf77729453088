#include "tilewright/support/text/Json.h"

#include "tilewright/support/text/Hex.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tilewright {

static void appendQuoted(std::string &out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u" + hexDigits(static_cast<unsigned char>(c), 4);
    } else {
      out += c;
    }
  }
  out += '"';
}

JsonWriter &JsonWriter::text(std::string_view value) {
  separate();
  appendQuoted(out, value);
  return *this;
}

JsonWriter &JsonWriter::number(double value) {
  if (!std::isfinite(value))
    return raw("null");
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return raw(std::string_view(digits, static_cast<size_t>(end - digits)));
}

JsonWriter &JsonWriter::microseconds(int64_t nanoseconds) {
  char digits[48];
  const auto size = std::snprintf(digits, sizeof digits, "%s%lld.%03d", nanoseconds < 0 ? "-" : "",
                                  std::abs(static_cast<long long>(nanoseconds / 1000)),
                                  std::abs(static_cast<int>(nanoseconds % 1000)));
  return raw(std::string_view(digits, static_cast<size_t>(size)));
}

} // namespace tilewright
