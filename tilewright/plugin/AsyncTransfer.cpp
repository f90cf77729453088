// PJRT_AsyncHostToDeviceTransferManager: buffers whose bytes arrive in chunks.
#include "tilewright/numerics/PackedElements.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Buffer.h"
#include "tilewright/plugin/Event.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/runtime/Backend.h"
#include "tilewright/support/Concat.h"

/// The caller may retrieve a buffer before its bytes have arrived; the last chunk completes the
/// buffer's definition event.
struct PJRT_AsyncHostToDeviceTransferManager {
  struct Slot {
    std::unique_ptr<tilewright::runtime::Buffer> buffer; // null after the caller has taken it
    tilewright::runtime::Promise promise;
    std::byte *data = nullptr;
    const tilewright::runtime::Memory *memory = nullptr;
    size_t bytes = 0;
    bool isDone = false;
  };
  PJRT_Client *client = nullptr;
  PJRT_Device *device = nullptr;
  std::mutex mutex;
  std::vector<Slot> slots; // guarded by mutex
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

Status write(Manager::Slot &slot, const void *data, int64_t offset, int64_t size, bool isLast) {
  if (slot.isDone)
    return Status(Error::pluginArguments,
                  "the caller has already sent the last chunk of this buffer");
  if (offset < 0 || size < 0 || static_cast<uint64_t>(offset) > slot.bytes ||
      static_cast<uint64_t>(size) > slot.bytes - static_cast<uint64_t>(offset))
    return Status(Error::pluginArguments,
                  concat("a chunk of ", size, " bytes at offset ", offset,
                         " does not fit in a buffer of ", slot.bytes, " bytes"));
  if (size > 0) {
    // Wait for the copy: the caller may reuse its bytes when this returns, and when the last chunk
    // completes the promise, all earlier chunks must have been copied.
    runtime::Client &client = slot.memory->client();
    auto *from = static_cast<std::byte *>(const_cast<void *>(data));
    TILEWRIGHT_TRY(client.backend()
                       .copy({slot.data + offset, slot.memory}, {from, nullptr},
                             static_cast<size_t>(size), client.threadPool())
                       .await());
  }
  if (isLast) {
    slot.isDone = true;
    slot.promise.complete();
  }
  return Status();
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
    TILEWRIGHT_PJRT_ASSIGN(slot.buffer,
                           runtime::Buffer::uninitialized(std::move(type), *memory, &slot.promise));
    slot.memory = memory;
    TILEWRIGHT_PJRT_ASSIGN(void *data, slot.buffer->data());
    slot.data = static_cast<std::byte *>(data);
    slot.bytes = slot.buffer->byteCount();
    TILEWRIGHT_PJRT_TRY(slot.buffer->addExternalReference());
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
  std::lock_guard lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  TILEWRIGHT_PJRT_TRY(
      write(*slot, args->data, args->offset, args->transfer_size, args->is_last_transfer));
  args->done_with_h2d_transfer = new PJRT_Event;
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, done_with_h2d_transfer);
  TILEWRIGHT_PJRT_HANDLE(args, transfer_manager);
  TILEWRIGHT_PJRT_ASSIGN(artifact::TensorType type, shapeOf(*args));
  TILEWRIGHT_PJRT_TRY(checkDeviceLayout(args->shape_layout, type));
  std::lock_guard lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  // A literal has one element in each byte; chunks of raw data have the bytes of the buffer.
  const void *data = args->data;
  std::vector<std::byte> packed;
  if (numerics::isPacked(type.element)) {
    TILEWRIGHT_PJRT_ASSIGN(size_t count, runtime::hostByteCountOf(type));
    packed.resize(slot->bytes);
    if (static_cast<size_t>(numerics::arrayBytes(type.element, static_cast<int64_t>(count))) !=
        slot->bytes)
      return toError(Status(Error::pluginArguments,
                            concat("a literal of ", count, " elements does not fit in a buffer of ",
                                   slot->bytes, " bytes")));
    numerics::packElements(type.element, packed.data(), static_cast<const std::byte *>(data),
                           static_cast<int64_t>(count));
    data = packed.data();
  }
  TILEWRIGHT_PJRT_TRY(write(*slot, data, 0, static_cast<int64_t>(slot->bytes), /*isLast=*/true));
  args->done_with_h2d_transfer = new PJRT_Event;
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
  std::lock_guard lock(args->transfer_manager->mutex);
  TILEWRIGHT_PJRT_ASSIGN(Manager::Slot * slot, slotAt(*args->transfer_manager, args->buffer_index));
  if (!slot->isDone) {
    slot->isDone = true;
    slot->promise.complete(
        toStatus(args->error_code, args->error_message, args->error_message_size));
  }
  return nullptr;
}

PJRT_Error *AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *) {
  return nullptr;
}

} // namespace tilewright::plugin
