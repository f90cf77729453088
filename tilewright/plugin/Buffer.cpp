#include "tilewright/plugin/Buffer.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Event.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin {

Result<runtime::Memory *> memoryFor(PJRT_Memory *memory, PJRT_Device *device,
                                    const char *function) {
  if (memory)
    return &of(memory).memory;
  if (device && device->device.isAddressable())
    return &device->device.defaultMemory();
  return Status(Error::pluginArguments,
                concat("PJRT_", function, " requires a memory or a device of this process"));
}

TILEWRIGHT_PJRT_DESTROY(Buffer_Destroy, buffer)
TILEWRIGHT_PJRT_VALUE(Buffer_ElementType, buffer, type, toBufferType(buffer->buffer->elementType()))
TILEWRIGHT_PJRT_LIST(Buffer_Dimensions, buffer, dims, num_dims, buffer->buffer->dims())
TILEWRIGHT_PJRT_LIST(Buffer_UnpaddedDimensions, buffer, unpadded_dims, num_dims,
                     buffer->buffer->dims())

PJRT_Error *Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_dynamic_dims);
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return nullptr;
}

PJRT_Error *Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, layout);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  std::span<const int64_t> order = rowMajorFor(args->buffer->buffer->dims().size());
  PJRT_Buffer_MemoryLayout layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  args->layout = layout;
  return nullptr;
}

TILEWRIGHT_PJRT_VALUE(Buffer_OnDeviceSizeInBytes, buffer, on_device_size_in_bytes,
                      buffer->buffer->byteCount())
TILEWRIGHT_PJRT_VALUE(Buffer_Device, buffer, device,
                      buffer->client.handleOf(buffer->buffer->device()))
TILEWRIGHT_PJRT_VALUE(Buffer_Memory, buffer, memory,
                      buffer->client.handleOf(buffer->buffer->memory()))

PJRT_Error *Buffer_Delete(PJRT_Buffer_Delete_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  args->buffer->buffer->release();
  return nullptr;
}

TILEWRIGHT_PJRT_VALUE(Buffer_IsDeleted, buffer, is_deleted, buffer->buffer->isDeleted())

// If true, jaxlib passes the bytes to NumPy without a copy.
TILEWRIGHT_PJRT_VALUE(Buffer_IsOnCpu, buffer, is_on_cpu, buffer->buffer->memory().isHostMemory())

PJRT_Error *Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  const runtime::Buffer &buffer = *args->buffer->buffer;
  if (buffer.isDeleted())
    args->event = new PJRT_Event{runtime::Event::failed(
        Status(Error::bufferDeleted, "cannot wait for an array that was deleted or donated"))};
  else
    args->event = new PJRT_Event{buffer.definition()};
  return nullptr;
}

PJRT_Error *Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, buffer_pointer);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  TILEWRIGHT_PJRT_ASSIGN(void *data, args->buffer->buffer->data());
  args->buffer_pointer = reinterpret_cast<uintptr_t>(data);
  return nullptr;
}

PJRT_Error *
Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, device_memory_ptr);
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  TILEWRIGHT_PJRT_ASSIGN(args->device_memory_ptr, args->buffer->buffer->data());
  return nullptr;
}

PJRT_Error *
Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  runtime::Buffer &buffer = *args->buffer->buffer;
  // The client reports the platform "cpu", so jaxlib's DLPack tells other libraries that the bytes
  // are on the host.
  if (!buffer.memory().isHostMemory())
    return toError(
        Status(Error::pluginArguments,
               concat("other libraries cannot use an array in memory '", buffer.memory().toString(),
                      "' in place, because the host cannot read it; copy it with "
                      "np.asarray first")));
  return toError(buffer.addExternalReference());
}

PJRT_Error *
Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, buffer);
  return toError(args->buffer->buffer->dropExternalReference());
}

} // namespace tilewright::plugin
