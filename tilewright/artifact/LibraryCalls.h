// LibraryCalls: the configuration of each kernel of the CPU runtime's library, as plain structs.
#ifndef TILEWRIGHT_ARTIFACT_LIBRARYCALLS_H
#define TILEWRIGHT_ARTIFACT_LIBRARYCALLS_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/numerics/LibraryEnums.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::artifact {

using numerics::ElementType;
using Integers = std::vector<int64_t>;

#define TILEWRIGHT_ENUMERATOR(enumerator, name)
#define TILEWRIGHT_LIBRARY_ENUM(Enum, ...) using numerics::Enum;
#include "tilewright/numerics/LibraryEnums.def"

#define TILEWRIGHT_FIELD(type, member, name, initial) type member = initial;
#define TILEWRIGHT_LIBRARY_CALL(Call, kernel, ...)                                                 \
  struct Call {                                                                                    \
    static constexpr std::string_view name = kernel;                                               \
    __VA_ARGS__                                                                                    \
    auto operator<=>(const Call &) const = default;                                                \
  };
#include "tilewright/artifact/LibraryCalls.def"

namespace detail {
template <typename, typename... Calls> struct VariantOf {
  using Type = std::variant<Calls...>;
};
} // namespace detail

using AnyLibraryCall = detail::VariantOf<void
#define TILEWRIGHT_FIELD(type, member, name, initial)
#define TILEWRIGHT_LIBRARY_CALL(Call, kernel, ...) , Call
#include "tilewright/artifact/LibraryCalls.def"
                                         >::Type;

/// A call of any kernel. The library dispatches with std::visit, so that a call without a kernel
/// does not compile. Its special members are compiled once, because each of them is a function for
/// every call.
struct LibraryCall : AnyLibraryCall {
  using AnyLibraryCall::AnyLibraryCall;
  LibraryCall();
  LibraryCall(const LibraryCall &);
  LibraryCall(LibraryCall &&) noexcept;
  LibraryCall &operator=(const LibraryCall &);
  LibraryCall &operator=(LibraryCall &&) noexcept;
  ~LibraryCall();
  bool operator==(const LibraryCall &) const;
  std::strong_ordering operator<=>(const LibraryCall &) const;
};

/// Calls `visit(name, member)` for each field of a call, in the order of the file.
#define TILEWRIGHT_FIELD(type, member, name, initial) visit(name, call.member);
#define TILEWRIGHT_LIBRARY_CALL(Call, kernel, ...)                                                 \
  template <typename Visit> void eachField([[maybe_unused]] Call &call, Visit &&visit) {           \
    __VA_ARGS__                                                                                    \
  }                                                                                                \
  template <typename Visit> void eachField([[maybe_unused]] const Call &call, Visit &&visit) {     \
    __VA_ARGS__                                                                                    \
  }
#include "tilewright/artifact/LibraryCalls.def"

/// One of the structs of LibraryCalls.def, maybe const.
template <typename Call>
concept IsLibraryCall = requires(Call &call) { eachField(call, [](const char *, auto &) {}); };

/// The kernel's name, such as "gather".
std::string_view nameOf(const LibraryCall &call);

/// "sort(dimension = 0, comparator = lt, …)", for people.
std::string toString(const LibraryCall &call);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_LIBRARYCALLS_H
