// concat(): builds a message from its parts. libstdc++ 12 has no std::format.
#ifndef TILEWRIGHT_SUPPORT_CONCAT_H
#define TILEWRIGHT_SUPPORT_CONCAT_H

#include <sstream>
#include <string>

namespace tilewright {

/// Writes each part as `<<` does, except that bytes print as numbers.
///
///   concat("dimension ", dim, " has size ", size, ", limit ", limit)
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream out;
  auto write = [&out](const auto &part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, uint8_t> || std::is_same_v<Part, int8_t>)
      out << static_cast<int>(part);
    else if constexpr (std::is_same_v<Part, bool>)
      out << (part ? "true" : "false");
    else
      out << part;
  };
  (write(parts), ...);
  return std::move(out).str();
}

/// Writes a list as "[2, 3, 4]".
template <typename List> std::string listed(const List &list) {
  std::ostringstream out;
  out << '[';
  bool first = true;
  for (const auto &item : list) {
    out << (first ? "" : ", ") << item;
    first = false;
  }
  out << ']';
  return std::move(out).str();
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_CONCAT_H
