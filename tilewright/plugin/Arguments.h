// How the structs of the C API are read and written when the caller's are of another size.
#ifndef TILEWRIGHT_PLUGIN_ARGUMENTS_H
#define TILEWRIGHT_PLUGIN_ARGUMENTS_H

#include "tilewright/plugin/Error.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::plugin {

/// Whether the caller's struct reaches this field. A caller built against an older header passes a
/// shorter struct, one built against a newer header a longer one; both are served.
template <typename Args, typename Field> bool holds(const Args *args, Field Args::*field) {
  auto begin = reinterpret_cast<const char *>(args);
  auto end = reinterpret_cast<const char *>(&(args->*field)) + sizeof(Field);
  return args->struct_size >= static_cast<size_t>(end - begin);
}

/// Writes an out-field if the caller has room for it.
template <typename Args, typename Field, typename Value>
void give(Args *args, Field Args::*field, Value &&value) {
  if (holds(args, field))
    args->*field = std::forward<Value>(value);
}

/// Reads an in-field, or `fallback` where the caller knows of none.
template <typename Args, typename Field>
Field take(const Args *args, Field Args::*field, Field fallback = Field()) {
  return holds(args, field) ? args->*field : fallback;
}

/// Gives a string as a pointer and a size; both belong to whoever owns `text`.
template <typename Args>
void giveText(Args *args, const char *Args::*data, size_t Args::*size, const std::string &text) {
  give(args, data, text.data());
  give(args, size, text.size());
}

inline std::string_view textOf(const char *data, size_t size) {
  return data ? std::string_view(data, size) : std::string_view();
}

/// The reason why a call cannot be served, or success: no struct, or one that ends before the
/// last field that the call cannot do without.
///  - pluginArguments (E8001)
Status checkStruct(const void *args, size_t size, size_t needed, const char *function);

} // namespace tilewright::plugin

/// Leaves the enclosing function with an error unless `args` reaches `field`. `field` is the last
/// one that the function cannot do without.
#define TILEWRIGHT_PJRT_ARGS(args, field)                                                          \
  do {                                                                                             \
    using ArgsType = std::remove_pointer_t<decltype(args)>;                                        \
    if (::tilewright::Status argsStatus = ::tilewright::plugin::checkStruct(                       \
            args, args ? args->struct_size : 0,                                                    \
            offsetof(ArgsType, field) + sizeof(std::declval<ArgsType>().field), __func__);         \
        !argsStatus.isOk())                                                                        \
      return ::tilewright::plugin::toError(std::move(argsStatus));                                 \
  } while (false)

/// The same, and the field is a handle that must not be null.
#define TILEWRIGHT_PJRT_HANDLE(args, field)                                                        \
  TILEWRIGHT_PJRT_ARGS(args, field);                                                               \
  if (!args->field)                                                                                \
  return ::tilewright::plugin::toError(::tilewright::plugin::nullHandle(__func__, #field))

/// Leaves a function that returns PJRT_Error* with the failure, if there is one.
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
