// PJRT_Device.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Client.h"
#include "tilewright/plugin/Getters.h"

#include <optional>

namespace tilewright::plugin {

TILEWRIGHT_PJRT_VALUE(Device_GetDescription, device, device_description, &device->description)
TILEWRIGHT_PJRT_VALUE(Device_IsAddressable, device, is_addressable, device->device.isAddressable())
TILEWRIGHT_PJRT_VALUE(Device_LocalHardwareId, device, local_hardware_id, device->device.localId())
TILEWRIGHT_PJRT_LIST(Device_AddressableMemories, device, memories, num_memories, device->memories)

PJRT_Error *Device_DefaultMemory(PJRT_Device_DefaultMemory_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, memory);
  TILEWRIGHT_PJRT_HANDLE(args, device);
  if (args->device->memories.empty())
    return toError(Status(Code::failedPrecondition,
                          "the device belongs to another process and has no memories in this one"));
  args->memory = args->device->memories.front();
  return nullptr;
}

PJRT_Error *Device_MemoryStats(PJRT_Device_MemoryStats_Args *args) {
  using Args = PJRT_Device_MemoryStats_Args;
  TILEWRIGHT_PJRT_ARGS(args, bytes_in_use);
  TILEWRIGHT_PJRT_HANDLE(args, device);
  if (!args->device->device.isAddressable())
    return toError(Status(Code::failedPrecondition, "the device belongs to another process"));
  runtime::AllocationStatistics statistics = args->device->device.defaultMemory().statistics();
  args->bytes_in_use = statistics.bytesInUse;
  // Write every flag: the caller's struct is uninitialised.
  auto tell = [args](int64_t Args::*field, bool Args::*isSet, std::optional<int64_t> value) {
    give(args, field, value.value_or(0));
    give(args, isSet, value.has_value());
  };
  tell(&Args::peak_bytes_in_use, &Args::peak_bytes_in_use_is_set, statistics.peakBytesInUse);
  tell(&Args::num_allocs, &Args::num_allocs_is_set, statistics.allocationCount);
  tell(&Args::largest_alloc_size, &Args::largest_alloc_size_is_set, statistics.largestAllocation);
  tell(&Args::bytes_limit, &Args::bytes_limit_is_set, statistics.bytesLimit);
  tell(&Args::bytes_reserved, &Args::bytes_reserved_is_set, std::nullopt);
  tell(&Args::peak_bytes_reserved, &Args::peak_bytes_reserved_is_set, std::nullopt);
  tell(&Args::bytes_reservable_limit, &Args::bytes_reservable_limit_is_set, std::nullopt);
  tell(&Args::largest_free_block_bytes, &Args::largest_free_block_bytes_is_set, std::nullopt);
  tell(&Args::pool_bytes, &Args::pool_bytes_is_set, statistics.bytesInUse + statistics.bytesCached);
  tell(&Args::peak_pool_bytes, &Args::peak_pool_bytes_is_set, std::nullopt);
  tell(&Args::peak_allocated_bytes, &Args::peak_allocated_bytes_is_set, std::nullopt);
  return nullptr;
}

PJRT_Error *Device_GetAttributes(PJRT_Device_GetAttributes_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, attributes_deleter);
  TILEWRIGHT_PJRT_HANDLE(args, device);
  args->attributes = args->device->description.attributes.data();
  args->num_attributes = args->device->description.attributes.size();
  // The device owns the attributes, so there is nothing to free.
  args->device_attributes = nullptr;
  args->attributes_deleter = [](PJRT_Device_Attributes *) {};
  return nullptr;
}

// A placeholder: callers that track asynchronous work need a handle, but nothing is tracked yet.
struct AsyncTracking {};

PJRT_Error *Device_CreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  args->event = reinterpret_cast<PJRT_AsyncTrackingEvent *>(new AsyncTracking);
  return nullptr;
}

PJRT_Error *AsyncTrackingEvent_Destroy(PJRT_AsyncTrackingEvent_Destroy_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  delete reinterpret_cast<AsyncTracking *>(args->event);
  return nullptr;
}

} // namespace tilewright::plugin
