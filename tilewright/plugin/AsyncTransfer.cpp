// PJRT_AsyncHostToDeviceTransferManager: buffers whose bytes arrive in chunks.
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Buffer.h"
#include "tilewright/plugin/Event.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/runtime/Backend.h"
#include "tilewright/support/Concat.h"

#include <mutex>
#include <optional>
#include <utility>

/// The caller may retrieve a buffer before its bytes have arrived; the last chunk completes the
/// buffer's definition event. The caller may destroy the buffer before the manager, or the manager
/// before the buffer: then the definitions of incomplete buffers fail.
struct PJRT_AsyncHostToDeviceTransferManager {
  struct Slot {
    std::unique_ptr<tilewright::runtime::Buffer> buffer; // null after the caller has taken it
    /// Nothing after the last chunk or an error. To be completed without the mutex: callbacks may
    /// call functions of the manager.
    std::optional<tilewright::runtime::Promise> promise;
    std::shared_ptr<std::byte> data; // null after the last chunk or an error
    const tilewright::runtime::Memory *memory = nullptr;
    tilewright::artifact::TensorType type;
    size_t bytes = 0;

    /// Takes no more chunks. The caller completes the promise.
    std::optional<tilewright::runtime::Promise> end() {
      data.reset();
      return std::exchange(promise, std::nullopt);
    }
  };
  PJRT_Client *client = nullptr;
  PJRT_Device *device = nullptr;
  std::mutex mutex;
  std::vector<Slot> slots; // guarded by mutex; their number, types and sizes do not change
};

namespace tilewright::plugin {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

Result<Manager::Slot *> slotAt(Manager &manager, int index) {
  if (index < 0 || static_cast<size_t>(index) >= manager.slots.size())
    return Status(Error::pluginArguments,
                  concat("buffer index ", index, " is out of range; the transfer has ",
                         manager.slots.size(), " buffers"));
  return &manager.slots[static_cast<size_t>(index)];
}

Status write(const Manager::Slot &slot, const void *data, int64_t offset, int64_t size) {
  if (!slot.promise)
    return Status(Error::pluginArguments,
                  "the caller has already sent the last chunk of this buffer, or its error");
  if (offset < 0 || size < 0 || static_cast<uint64_t>(offset) > slot.bytes ||
      static_cast<uint64_t>(size) > slot.bytes - static_cast<uint64_t>(offset))
    return Status(Error::pluginArguments,
                  concat("a chunk of ", size, " bytes at offset ", offset,
                         " does not fit in a buffer of ", slot.bytes, " bytes"));
  if (size == 0)
    return Status();
  if (!data)
    return Status(Error::pluginArguments, concat("a chunk of ", size, " bytes has no data"));
  // Wait for the copy: the caller may reuse its bytes when this returns, and when the last chunk
  // completes the promise, all earlier chunks must have been copied.
  runtime::Client &client = slot.memory->client();
  auto *from = static_cast<std::byte *>(const_cast<void *>(data));
  return client.backend()
      .copy({slot.data.get() + offset, slot.memory}, {from, nullptr}, static_cast<size_t>(size),
            client.threadPool())
      .await();
}

} // namespace

PJRT_Error *
Client_CreateBuffersForAsyncHostToDevice(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, transfer_manager);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(runtime::Memory * memory, memoryFor(args->memory, nullptr, __func__));
  auto manager = std::make_unique<Manager>();
  manager->client = args->client;
  manager->device = args->client->handleOf(memory->device());
  for (size_t i = 0; i < args->num_shape_specs; ++i) {
    const PJRT_ShapeSpec &spec = args->shape_specs[i];
    TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type,
                           toTensorType(spec.element_type, spec.dims, spec.num_dims));
    if (args->device_layouts && i < args->num_device_layouts)
      TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->device_layouts[i], type));
    Manager::Slot slot;
    slot.type = type;
    TILEWRIGHT_PJRT_ASSIGN(slot.buffer, runtime::Buffer::uninitialized(std::move(type), *memory,
                                                                       &slot.promise.emplace()));
    slot.memory = memory;
    slot.data = slot.buffer->keepBytes();
    slot.bytes = slot.buffer->byteCount();
    manager->slots.push_back(std::move(slot));
  }
  args->transfer_manager = manager.release();
  return nullptr;
}

TILEWRIGHT_PJRT_DESTROY(AsyncHostToDeviceTransferManager_Destroy, transfer_manager)

PJRT_Error *AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, done_with_h2d_transfer);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  std::unique_lock lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  TILEWRIGHT_PJRT_TRY(write(*slot, args->data, args->offset, args->transfer_size));
  std::optional<runtime::Promise> ended;
  if (args->is_last_transfer)
    ended = slot->end();
  lock.unlock();
  // Fill in the caller's struct first: a callback may destroy the manager.
  args->done_with_h2d_transfer = new PJRT_Event;
  if (ended)
    ended->complete();
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, done_with_h2d_transfer);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type, shapeOf(*args));
  TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->shape_layout, type));
  std::unique_lock lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  if (type != slot->type)
    return toError(Status(Error::pluginArguments,
                          concat("a literal of ", numerics::spelling(type.element),
                                 listed(type.dims), " cannot be transferred to a buffer of ",
                                 numerics::spelling(slot->type.element), listed(slot->type.dims),
                                 "; the types must be equal")));
  // A literal has one element in each byte; chunks of raw data have the bytes of the buffer.
  const void *data = args->data;
  std::vector<std::byte> packed;
  if (numerics::isPacked(type.element) && data) {
    TILEWRIGHT_PJRT_ASSIGN(size_t count, runtime::hostByteCountOf(type));
    packed.resize(slot->bytes);
    numerics::packElements(type.element, packed.data(), static_cast<const std::byte *>(data),
                           static_cast<int64_t>(count));
    data = packed.data();
  }
  TILEWRIGHT_PJRT_TRY(write(*slot, data, 0, static_cast<int64_t>(slot->bytes)));
  std::optional<runtime::Promise> ended = slot->end();
  lock.unlock();
  args->done_with_h2d_transfer = new PJRT_Event;
  ended->complete();
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer_out);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  std::lock_guard lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  if (!slot->buffer)
    return toError(Status(Error::pluginArguments, "the caller has already retrieved this buffer"));
  args->buffer_out = new PJRT_Buffer(*args->transfer_manager->client, std::move(slot->buffer));
  return nullptr;
}

TILEWRIGHT_PJRT_VALUE(AsyncHostToDeviceTransferManager_Device, transfer_manager, device_out,
                      transfer_manager->device)
TILEWRIGHT_PJRT_VALUE(AsyncHostToDeviceTransferManager_BufferCount, transfer_manager, buffer_count,
                      transfer_manager->slots.size())

PJRT_Error *AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer_size);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  args->buffer_size = slot->bytes;
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, error_message_size);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  Status why = toStatus(args->error_code, args->error_message, args->error_message_size);
  if (why.isOk())
    return toError(
        Status(Error::pluginArguments, "a buffer's error requires an error code other than OK"));
  std::unique_lock lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  std::optional<runtime::Promise> ended = slot->end();
  lock.unlock();
  if (ended)
    ended->complete(std::move(why));
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *) {
  return nullptr;
}

} // namespace tilewright::plugin
