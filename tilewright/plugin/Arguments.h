// Reads and writes structs of the C API whose size differs from ours.
#ifndef TILEWRIGHT_PLUGIN_ARGUMENTS_H
#define TILEWRIGHT_PLUGIN_ARGUMENTS_H

#include "tilewright/plugin/Error.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::plugin {

/// Whether the caller's struct contains this field. A caller built against an older header passes a
/// shorter struct, one built against a newer header a longer one; we support both.
template <typename Args, typename Field> bool holds(const Args *args, Field Args::*field) {
  auto begin = reinterpret_cast<const char *>(args);
  auto end = reinterpret_cast<const char *>(&(args->*field)) + sizeof(Field);
  return args->struct_size >= static_cast<size_t>(end - begin);
}

/// Writes an output field if the caller's struct contains it.
template <typename Args, typename Field, typename Value>
void give(Args *args, Field Args::*field, Value &&value) {
  if (holds(args, field))
    args->*field = std::forward<Value>(value);
}

/// Reads an input field; returns `fallback` if the caller's struct does not contain it.
template <typename Args, typename Field>
Field take(const Args *args, Field Args::*field, Field fallback = Field()) {
  return holds(args, field) ? args->*field : fallback;
}

/// Writes a string as a pointer and a size. The owner of `text` keeps the bytes alive.
template <typename Args>
void giveText(Args *args, const char *Args::*data, size_t Args::*size, const std::string &text) {
  give(args, data, text.data());
  give(args, size, text.size());
}

inline std::string_view textOf(const char *data, size_t size) {
  return data ? std::string_view(data, size) : std::string_view();
}

/// Checks that the struct is not null and reaches the last field that the call requires.
///  - pluginArguments (E8001)
Status checkStruct(const void *args, size_t size, size_t needed, const char *function);

} // namespace tilewright::plugin

/// The size of a struct that ends with `field`.
#define TILEWRIGHT_PJRT_END(args, field)                                                           \
  (offsetof(std::remove_pointer_t<decltype(args)>, field) +                                        \
   sizeof(decltype(std::remove_pointer_t<decltype(args)>::field)))

/// Returns an error from the enclosing function unless `args` has `needed` bytes.
#define TILEWRIGHT_PJRT_BYTES(args, needed)                                                        \
  do {                                                                                             \
    if (::tilewright::Status argsStatus = ::tilewright::plugin::checkStruct(                       \
            args, args ? args->struct_size : 0, needed, __func__);                                 \
        !argsStatus.isOk())                                                                        \
      return ::tilewright::plugin::toError(std::move(argsStatus));                                 \
  } while (false)

/// Returns an error from the enclosing function unless `args` reaches `field`. `field` is the last
/// one that the function requires.
#define TILEWRIGHT_PJRT_ARGS(args, field)                                                          \
  TILEWRIGHT_PJRT_BYTES(args, TILEWRIGHT_PJRT_END(args, field))

/// Like TILEWRIGHT_PJRT_ARGS; `field` is a handle that must not be null.
#define TILEWRIGHT_PJRT_HANDLE(args, field)                                                        \
  TILEWRIGHT_PJRT_ARGS(args, field);                                                               \
  if (!args->field)                                                                                \
  return ::tilewright::plugin::toError(::tilewright::plugin::nullHandle(__func__, #field))

/// Returns the failure, if there is one, from a function that returns PJRT_Error*.
#define TILEWRIGHT_PJRT_TRY(expr)                                                                  \
  do {                                                                                             \
    if (::tilewright::Status tryStatus = (expr); !tryStatus.isOk())                                \
      return ::tilewright::plugin::toError(std::move(tryStatus));                                  \
  } while (false)

#define TILEWRIGHT_PJRT_ASSIGN(var, expr)                                                          \
  TILEWRIGHT_PJRT_ASSIGN_IMPL(TILEWRIGHT_JOIN(pjrtResult, __LINE__), var, expr)
#define TILEWRIGHT_PJRT_ASSIGN_IMPL(result, var, expr)                                             \
  auto result = (expr);                                                                            \
  if (!result.isOk())                                                                              \
    return ::tilewright::plugin::toError(std::move(result).takeStatus());                          \
  var = *std::move(result)

#endif // TILEWRIGHT_PLUGIN_ARGUMENTS_H
