// Helpers for tests of the C API: calls without boilerplate.
#ifndef TILEWRIGHT_PLUGIN_TESTING_API_H
#define TILEWRIGHT_PLUGIN_TESTING_API_H

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/options/NamedValues.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::plugin {

/// Arguments of a caller that was built against the same header. Fields that the caller did not set
/// contain garbage, as in jaxlib.
template <typename Args> Args makeArgs(size_t structSize) {
  Args args;
  std::memset(&args, 0xa5, sizeof(args));
  args.struct_size = structSize;
  if constexpr (requires { args.extension_start; })
    args.extension_start = nullptr;
  return args;
}
#define TILEWRIGHT_ARGS(name, variable)                                                            \
  auto variable = makeArgs<PJRT_##name##_Args>(PJRT_##name##_Args_STRUCT_SIZE)

/// Returns the message of an error, or "" for success, and frees the error.
inline std::string messageOf(PJRT_Error *error) {
  if (!error)
    return "";
  TILEWRIGHT_ARGS(Error_Message, message);
  message.error = error;
  pjrtApi().PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  TILEWRIGHT_ARGS(Error_Destroy, destroy);
  destroy.error = error;
  pjrtApi().PJRT_Error_Destroy(&destroy);
  return text;
}
#define EXPECT_CALL_OK(call) EXPECT_EQ(messageOf(call), "")
#define ASSERT_CALL_OK(call) ASSERT_EQ(messageOf(call), "")
/// Expects that the message begins with the error's id: "E8001".
#define EXPECT_CALL_ERROR(call, error)                                                             \
  EXPECT_THAT(messageOf(call), ::testing::StartsWith(idOf(error) + " "))
/// Calls a function whose only input is `handle`, and expects success. The outputs are in
/// `variable`.
#define TILEWRIGHT_CALL(name, variable, handle, value)                                             \
  TILEWRIGHT_ARGS(name, variable);                                                                 \
  variable.handle = value;                                                                         \
  EXPECT_CALL_OK(pjrtApi().PJRT_##name(&variable))

/// A client that is destroyed at the end.
struct TestClient {
  /// `target` is a name of a GPU, or empty for CPU devices.
  explicit TestClient(int64_t devices = 1, const std::string &target = "") {
    NamedValues options;
    options.add("runtime.devices", devices);
    options.add("runtime.threads", int64_t(1));
    if (!target.empty())
      options.add("compile.target", target);
    TILEWRIGHT_ARGS(Client_Create, args);
    args.create_options = options.data();
    args.num_options = options.size();
    EXPECT_CALL_OK(pjrtApi().PJRT_Client_Create(&args));
    client = args.client;
  }
  ~TestClient() { TILEWRIGHT_CALL(Client_Destroy, args, client, client); }
  PJRT_Device *device(size_t index = 0) const {
    TILEWRIGHT_CALL(Client_AddressableDevices, args, client, client);
    return args.addressable_devices[index];
  }
  PJRT_Memory *memory(size_t index = 0) const {
    TILEWRIGHT_CALL(Client_AddressableMemories, args, client, client);
    return args.addressable_memories[index];
  }
  PJRT_Client *client = nullptr;
};

inline void destroyEvent(PJRT_Event *event) { TILEWRIGHT_CALL(Event_Destroy, args, event, event); }
/// Waits for the event, returns its error message and frees it.
inline std::string await(PJRT_Event *event) {
  TILEWRIGHT_ARGS(Event_Await, args);
  args.event = event;
  std::string message = messageOf(pjrtApi().PJRT_Event_Await(&args));
  destroyEvent(event);
  return message;
}

inline void destroyBuffer(PJRT_Buffer *buffer) {
  TILEWRIGHT_CALL(Buffer_Destroy, args, buffer, buffer);
}

/// An array of f32 on the client's first device.
inline PJRT_Buffer *makeBuffer(const TestClient &client, const std::vector<float> &values,
                               const std::vector<int64_t> &dims,
                               const std::vector<int64_t> &strides = {}, size_t offset = 0) {
  TILEWRIGHT_ARGS(Client_BufferFromHostBuffer, args);
  args.client = client.client;
  args.data = values.data() + offset;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.byte_strides = strides.empty() ? nullptr : strides.data();
  args.num_byte_strides = strides.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = nullptr;
  args.memory = client.memory();
  args.device_layout = nullptr;
  EXPECT_CALL_OK(pjrtApi().PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_EQ(await(args.done_with_host_buffer), "");
  return args.buffer;
}

inline std::vector<float> read(PJRT_Buffer *buffer) {
  TILEWRIGHT_ARGS(Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.host_layout = nullptr;
  args.dst = nullptr;
  EXPECT_CALL_OK(pjrtApi().PJRT_Buffer_ToHostBuffer(&args));
  std::vector<float> values(args.dst_size / sizeof(float));
  args.dst = values.data();
  EXPECT_CALL_OK(pjrtApi().PJRT_Buffer_ToHostBuffer(&args));
  EXPECT_EQ(await(args.event), "");
  return values;
}

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_TESTING_API_H
