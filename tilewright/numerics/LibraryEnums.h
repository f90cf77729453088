// The enums of library calls, as the compiler, the artifact and the kernels name them.
#ifndef TILEWRIGHT_NUMERICS_LIBRARYENUMS_H
#define TILEWRIGHT_NUMERICS_LIBRARYENUMS_H

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tilewright::numerics {

#define TILEWRIGHT_ENUMERATOR(enumerator, name) enumerator,
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...) enum class Enum : uint8_t { __VA_ARGS__ };
#include "tilewright/numerics/LibraryEnums.def"

/// The names of an enum's values, in order. Defined for the enums of LibraryEnums.def only.
template <typename Enum> struct LibraryEnumNames;

#define TILEWRIGHT_ENUMERATOR(enumerator, name) name,
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...)                                                         \
  template <> struct LibraryEnumNames<Enum> {                                                      \
    static constexpr std::string_view all[] = {__VA_ARGS__};                                       \
  };
#include "tilewright/numerics/LibraryEnums.def"

template <typename Enum>
concept LibraryEnum = requires { LibraryEnumNames<Enum>::all; };

/// The number of values, which are 0, 1, ….
template <LibraryEnum Enum>
inline constexpr size_t enumCount = std::size(LibraryEnumNames<Enum>::all);

template <LibraryEnum Enum> constexpr std::string_view nameOf(Enum value) {
  return LibraryEnumNames<Enum>::all[static_cast<size_t>(value)];
}

/// Empty if no value has this name.
template <LibraryEnum Enum> constexpr std::optional<Enum> enumNamed(std::string_view name) {
  for (size_t i = 0; i < enumCount<Enum>; ++i)
    if (LibraryEnumNames<Enum>::all[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_LIBRARYENUMS_H
