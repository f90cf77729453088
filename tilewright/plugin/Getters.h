// Macros that define functions of the C API which follow a common pattern. A getter checks its
// arguments, reads one property of an object and writes it to the caller's struct:
//
//   TILEWRIGHT_PJRT_VALUE(Device_LocalHardwareId, device, local_hardware_id,
//                         device->device.localId())
//
// defines Device_LocalHardwareId, which fails unless the caller's struct reaches the field
// local_hardware_id and its handle `device` is not null. The last argument of the macro can use the
// handle by its name in the struct.
#ifndef TILEWRIGHT_PLUGIN_GETTERS_H
#define TILEWRIGHT_PLUGIN_GETTERS_H

#include "tilewright/plugin/Arguments.h"

#include <algorithm>
#include <string>

/// Writes one value to `field`.
#define TILEWRIGHT_PJRT_VALUE(function, handle, field, value)                                      \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    TILEWRIGHT_PJRT_ARGS(args, field);                                                             \
    TILEWRIGHT_PJRT_HANDLE(args, handle);                                                          \
    [[maybe_unused]] auto *handle = args->handle;                                                  \
    args->field = value;                                                                           \
    return nullptr;                                                                                \
  }

/// Writes a std::string, which its owner keeps alive, to `field` and `field`_size.
#define TILEWRIGHT_PJRT_TEXT(function, handle, field, text)                                        \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    using Args = PJRT_##function##_Args;                                                           \
    TILEWRIGHT_PJRT_ARGS(args, field##_size);                                                      \
    TILEWRIGHT_PJRT_HANDLE(args, handle);                                                          \
    auto *handle = args->handle;                                                                   \
    giveText(args, &Args::field, &Args::field##_size, text);                                       \
    return nullptr;                                                                                \
  }

/// Like TILEWRIGHT_PJRT_TEXT, for a text of the plugin itself; the caller's handle is not read.
#define TILEWRIGHT_PJRT_PLUGIN_TEXT(function, field, text)                                         \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    using Args = PJRT_##function##_Args;                                                           \
    TILEWRIGHT_PJRT_ARGS(args, field##_size);                                                      \
    giveText(args, &Args::field, &Args::field##_size, text);                                       \
    return nullptr;                                                                                \
  }

/// Writes the address and the size of a list, which its owner keeps alive, to the fields `elements`
/// and `count`. The structs have these two fields in either order.
#define TILEWRIGHT_PJRT_LIST(function, handle, elements, count, list)                              \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    TILEWRIGHT_PJRT_BYTES(                                                                         \
        args, std::max(TILEWRIGHT_PJRT_END(args, elements), TILEWRIGHT_PJRT_END(args, count)));    \
    TILEWRIGHT_PJRT_HANDLE(args, handle);                                                          \
    auto *handle = args->handle;                                                                   \
    auto &&given = list;                                                                           \
    args->elements = given.data();                                                                 \
    args->count = given.size();                                                                    \
    return nullptr;                                                                                \
  }

/// Writes a list of strings (PJRT_Executable::Texts), which its owner keeps alive, to the fields
/// `elements` and `lengths`, and the number of strings to `count`.
#define TILEWRIGHT_PJRT_TEXTS(function, handle, count, elements, lengths, texts)                   \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    TILEWRIGHT_PJRT_ARGS(args, lengths);                                                           \
    TILEWRIGHT_PJRT_HANDLE(args, handle);                                                          \
    auto *handle = args->handle;                                                                   \
    const auto &given = texts;                                                                     \
    args->count = given.data.size();                                                               \
    args->elements = given.data.data();                                                            \
    args->lengths = given.sizes.data();                                                            \
    return nullptr;                                                                                \
  }

/// Writes bytes, and the function `handleOfBytes`_deleter that frees them.
#define TILEWRIGHT_PJRT_SERIALIZE(function, handle, handleOfBytes, bytes)                          \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    TILEWRIGHT_PJRT_ARGS(args, handleOfBytes##_deleter);                                           \
    TILEWRIGHT_PJRT_HANDLE(args, handle);                                                          \
    auto *handle = args->handle;                                                                   \
    giveSerialized(bytes, args->serialized_bytes, args->serialized_bytes_size,                     \
                   args->handleOfBytes, args->handleOfBytes##_deleter);                            \
    return nullptr;                                                                                \
  }

/// Deletes the object of a handle, which may be null.
#define TILEWRIGHT_PJRT_DESTROY(function, handle)                                                  \
  PJRT_Error *function(PJRT_##function##_Args *args) {                                             \
    TILEWRIGHT_PJRT_ARGS(args, handle);                                                            \
    delete args->handle;                                                                           \
    return nullptr;                                                                                \
  }

namespace tilewright::plugin {

/// Writes bytes to the four output fields of a function that serializes. `Handle` is the C API's
/// opaque type; the handle points to our std::string.
template <typename Handle>
void giveSerialized(std::string bytes, const char *&data, size_t &size, Handle *&handle,
                    void (*&deleter)(Handle *)) {
  auto *owned = new std::string(std::move(bytes));
  data = owned->data();
  size = owned->size();
  handle = reinterpret_cast<Handle *>(owned);
  deleter = [](Handle *given) { delete reinterpret_cast<std::string *>(given); };
}

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_GETTERS_H
