// Copies bytes from the host to buffers, from buffers to the host, and between buffers.
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Buffer.h"
#include "tilewright/plugin/Event.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/runtime/Backend.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin {
namespace {

/// Copies a buffer to the memory that the caller chose, and writes the new buffer to `copy`.
PJRT_Error *copyTo(Result<runtime::Memory *> chosen, const PJRT_Buffer &buffer,
                   PJRT_Buffer *&copy) {
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory, std::move(chosen));
  TILEWRIGHT_PJRT_ASSIGN(std::unique_ptr<runtime::Buffer> made, buffer.buffer->copyTo(*memory));
  copy = new PJRT_Buffer(buffer.client, std::move(made));
  return nullptr;
}

/// Whether `data`, from which a buffer in `memory` is to be made, is in host memory.
///  - pluginArguments (E8001): it is in the memory of a device other than that of `memory`.
Result<bool> isHostMemory(const void *data, const runtime::Memory &memory) {
  TILEWRIGHT_ASSIGN(std::optional<size_t> device,
                    memory.client().backend().deviceOf(static_cast<const std::byte *>(data)));
  if (!device)
    return true;
  if (!memory.isHostMemory() && memory.device().localId() == static_cast<int>(*device))
    return false;
  return Status(Error::pluginArguments,
                concat("the memory at ", data, " is on ",
                       memory.client().addressableDevices()[*device]->toString(),
                       ", so a buffer in memory '", memory.toString(),
                       "' cannot be a view of it; name the device that has it, and copy the "
                       "buffer afterwards"));
}

bool isAligned(const void *data) {
  return reinterpret_cast<uintptr_t>(data) % artifact::bufferAlignment == 0;
}

/// A copy of elements in the form that a device's buffer has: packed if they are narrow.
Result<std::unique_ptr<runtime::Buffer>>
copyOfHostMemory(const void *data, const artifact::TensorType &type, runtime::Memory &memory) {
  runtime::HostBuffer host;
  host.data = data;
  host.type = type;
  std::vector<std::byte> elements;
  if (numerics::isPacked(type.element)) { // a host's buffer is not packed
    TILEWRIGHT_ASSIGN(size_t count, runtime::hostByteCountOf(type));
    elements.resize(count);
    numerics::unpackElements(type.element, elements.data(), static_cast<const std::byte *>(data),
                             static_cast<int64_t>(count));
    host.data = elements.data();
  }
  return runtime::Buffer::fromHost(host, memory);
}

} // namespace

PJRT_Error *Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  runtime::HostBuffer host;
  host.data = args->data;
  TILEWRIGHT_PJRT_ASSIGN(host.type, toTensorType(args->type, args->dims, args->num_dims));
  TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->device_layout, host.type));
  if (args->byte_strides)
    host.byteStrides = {args->byte_strides, args->num_byte_strides};
  host.semantics = static_cast<runtime::HostBufferSemantics>(args->host_buffer_semantics);
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory, memoryFor(args->memory, args->device, __func__));
  runtime::Event done;
  TILEWRIGHT_PJRT_ASSIGN(std::unique_ptr<runtime::Buffer> buffer,
                         runtime::Buffer::fromHost(host, *memory, &done));
  args->done_with_host_buffer = new PJRT_Event{std::move(done)};
  args->buffer = new PJRT_Buffer(*args->client, std::move(buffer));
  return nullptr;
}

PJRT_Error *Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  TILEWRIGHT_PJRT_HANDLE(args, src);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  const runtime::Buffer &buffer = *args->src->buffer;
  if (!args->dst) {
    args->dst_size = buffer.hostByteCount();
    args->event = nullptr;
    return nullptr;
  }
  if (args->dst_size < buffer.hostByteCount())
    return toError(Status(Error::pluginArguments,
                          concat("the array has ", buffer.hostByteCount(),
                                 " bytes, but the destination has only ", args->dst_size)));
  TILEWRIGHT_PJRT_ASSIGN(std::vector<int64_t> order,
                         minorToMajorOf(args->host_layout, buffer.type()));
  TILEWRIGHT_PJRT_ASSIGN(runtime::Event copied,
                         buffer.toHost(args->dst, buffer.hostByteCount(), order));
  args->event = new PJRT_Event{std::move(copied)};
  return nullptr;
}

PJRT_Error *Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  if (args->offset < 0 || args->transfer_size < 0)
    return toError(
        Status(Error::pluginArguments, "the offset and size of a copy must not be negative"));
  TILEWRIGHT_PJRT_ASSIGN(runtime::Event copied, args->buffer->buffer->toHostRaw(
                                                    args->dst, static_cast<size_t>(args->offset),
                                                    static_cast<size_t>(args->transfer_size)));
  args->event = new PJRT_Event{std::move(copied)};
  return nullptr;
}

PJRT_Error *Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, dst_buffer);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  return copyTo(memoryFor(nullptr, args->dst_device, __func__), *args->buffer, args->dst_buffer);
}

PJRT_Error *Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, dst_buffer);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  return copyTo(memoryFor(args->dst_memory, nullptr, __func__), *args->buffer, args->dst_buffer);
}

PJRT_Error *Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type, shapeOf(*args));
  TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->shape_layout, type));
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory, memoryFor(args->memory, args->device, __func__));
  TILEWRIGHT_PJRT_ASSIGN(std::unique_ptr<runtime::Buffer> buffer,
                         runtime::Buffer::uninitialized(std::move(type), *memory));
  args->buffer = new PJRT_Buffer(*args->client, std::move(buffer));
  return nullptr;
}

PJRT_Error *Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type, shapeOf(*args));
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory, memoryFor(args->memory, nullptr, __func__));
  Status why = toStatus(args->error_code, args->error_message, args->error_message_size);
  if (why.isOk())
    return toError(
        Status(Error::pluginArguments, "an error buffer requires an error code other than OK"));
  args->buffer = new PJRT_Buffer(*args->client,
                                 runtime::Buffer::failed(std::move(type), *memory, std::move(why)));
  return nullptr;
}

PJRT_Error *Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args *args) {
  using Args = PJRT_Client_CreateViewOfDeviceBuffer_Args;
  TILEWRIGHT_PJRT_ARGS(args, buffer);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type,
                         toTensorType(args->element_type, args->dims, args->num_dims));
  TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->layout, type));
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory,
                         memoryFor(take(args, &Args::memory), args->device, __func__));
  void *data = args->device_buffer_ptr;
  auto release = [callback = args->on_delete_callback, data,
                  argument = args->on_delete_callback_arg] {
    if (callback)
      callback(data, argument);
  };
  TILEWRIGHT_PJRT_ASSIGN(const bool isHost, isHostMemory(data, *memory));
  std::unique_ptr<runtime::Buffer> buffer;
  // DLPack memory of other libraries rarely has the alignment that we require, and a GPU cannot use
  // memory of the host, so copy it. The original is then no longer needed.
  if (isHost && !(memory->canAdoptHostBytes() && isAligned(data))) {
    TILEWRIGHT_PJRT_ASSIGN(buffer, copyOfHostMemory(data, type, *memory));
    release();
  } else {
    // JAX passes no stream, which stands for the default one: the queues of this runtime do not
    // wait for that by themselves.
    if (!isHost)
      TILEWRIGHT_PJRT_TRY(memory->client().backend().awaitStream(
          memory->device(), reinterpret_cast<void *>(args->stream)));
    TILEWRIGHT_PJRT_ASSIGN(buffer, runtime::Buffer::view(data, type, *memory, release));
  }
  args->buffer = new PJRT_Buffer(*args->client, std::move(buffer));
  return nullptr;
}

} // namespace tilewright::plugin
