// A text that is a number.
#ifndef TILEWRIGHT_SUPPORT_TEXT_NUMBER_H
#define TILEWRIGHT_SUPPORT_TEXT_NUMBER_H

#include <charconv>
#include <optional>
#include <string_view>

namespace tilewright {

/// The number that the whole text is; nullopt if the text has anything else, also spaces or a '+',
/// or if the type cannot hold the number.
template <typename Number> std::optional<Number> numberIn(std::string_view text) {
  Number value{};
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return value;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TEXT_NUMBER_H
