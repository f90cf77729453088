// Attributes of addresses: cuPointer*, cuMemAdvise and related functions.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/Pool.h"
#include "tilewright/vgpu/driver/Stream.h"

#include <cstring>

namespace tilewright::vgpu::driver {

template <typename T> static CUresult give(void *to, T value) {
  std::memcpy(to, &value, sizeof(value));
  return CUDA_SUCCESS;
}

/// An attribute of an address in an allocation.
static CUresult attributeOf(const OwnedMemory &memory, CUpointer_attribute attribute,
                            CUdeviceptr pointer, void *data) {
  const bool isHost =
      memory.kind == AllocationKind::host || memory.kind == AllocationKind::registered;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: {
    std::shared_ptr<Context> context = memory.context.lock();
    return give(data, context ? context->handle : nullptr);
  }
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(data, unsigned(isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return give(data, pointer);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (!isHost && memory.kind != AllocationKind::managed)
      return fail(CUDA_ERROR_INVALID_VALUE, "only the device can access the memory");
    return give(data, pointer);
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    return give(data, 1u);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID: {
    std::optional<machine::Allocation> found = machine::allocations().find(pointer);
    return give(data, static_cast<unsigned long long>(found ? found->id : 0));
  }
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return give(data, unsigned(memory.kind == AllocationKind::managed));
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give(data, memory.device->ordinal);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    return give(data, 0u);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    return give(data, static_cast<CUdeviceptr>(memory.begin));
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    return give(data, static_cast<size_t>(memory.bytes));
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return give(data, 1u);
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    return give(data, static_cast<unsigned long long>(0));
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return give(data, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return give(data, memory.pool ? memory.pool->handle : nullptr);
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: {
    std::optional<machine::Allocation> found = machine::allocations().find(pointer);
    return give(data, static_cast<unsigned long long>(found ? found->id : 0));
  }
  case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
    return fail(CUDA_ERROR_NOT_SUPPORTED, "P2P tokens are not supported");
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown pointer attribute ", int(attribute)));
}

static CUresult locationOf(CUmemLocation location, int &number) {
  switch (location.type) {
  case CU_MEM_LOCATION_TYPE_DEVICE: {
    Device *device = nullptr;
    VGPU_TRY(needDevice(location.id, device));
    number = location.id;
    return CUDA_SUCCESS;
  }
  case CU_MEM_LOCATION_TYPE_HOST:
  case CU_MEM_LOCATION_TYPE_HOST_NUMA:
  case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    number = deviceCpu;
    return CUDA_SUCCESS;
  default:
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown location type ", int(location.type)));
  }
}

static CUmemLocation asLocation(CUdevice device) {
  return device == deviceCpu ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                             : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

/// Finds the managed memory that contains the whole range.
static CUresult needManaged(CUdeviceptr address, size_t count, OwnedMemory &memory) {
  std::optional<OwnedMemory> found = ownedAt(address);
  if (!found || found->kind != AllocationKind::managed || count == 0 ||
      address + count > found->begin + found->bytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the range is not within a single allocation of managed memory");
  memory = *found;
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  VGPU_NEED(data);
  if (std::optional<OwnedMemory> memory = ownedAt(pointer))
    return attributeOf(*memory, attribute, pointer, data);
  // Host memory that was not registered: behave like a GPU that shares the host's page tables.
  if (pointer && Driver::get().settings.usesHostMemory &&
      (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
       attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER))
    return give(data, pointer);
  return fail(CUDA_ERROR_INVALID_VALUE,
              "the pointer does not refer to memory that the driver allocated or registered; "
              "kernels can access memory from cuMemAlloc or cuMemHostRegister, or any host memory "
              "with --host-memory=1");
}

CUresult cuPointerGetAttributes(unsigned numAttributes, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr pointer) {
  VGPU_NEED(numAttributes && attributes && data);
  for (unsigned i = 0; i < numAttributes; ++i) {
    VGPU_NEED(data[i]);
    if (cuPointerGetAttribute(data[i], attributes[i], pointer) == CUDA_SUCCESS)
      continue;
    // Attributes of an unknown pointer are zero, and not an error.
    switch (attributes[i]) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      give(data[i], 0u);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      give(data[i], deviceInvalid);
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      give(data[i], static_cast<unsigned long long>(0));
      break;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("unknown pointer attribute ", int(attributes[i])));
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr pointer) {
  VGPU_NEED(value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  // The value has no effect: copies are always synchronous where CUDA documents it.
  return ownedAt(pointer) ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "unknown pointer");
}

CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  return cuMemAdvise(address, count, advice, asLocation(device));
}

CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice,
                     CUmemLocation location) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  OwnedMemory memory;
  VGPU_TRY(needManaged(address, count, memory));
  int number = deviceInvalid;
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
      advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY)
    VGPU_TRY(locationOf(location, number));
  switch (advice) {
  case CU_MEM_ADVISE_SET_READ_MOSTLY:
  case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
    changeOwned(address, [&](OwnedMemory &one) {
      one.readMostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
    });
    return CUDA_SUCCESS;
  case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
  case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
    changeOwned(address, [&](OwnedMemory &one) { one.preferred = number; });
    return CUDA_SUCCESS;
  case CU_MEM_ADVISE_SET_ACCESSED_BY:
  case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
    return CUDA_SUCCESS; // all devices have a mapping already
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown advice ", int(advice)));
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream) {
  return cuMemPrefetchAsync(address, count, asLocation(device), 0, stream);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUmemLocation location,
                            unsigned flags, CUstream handle) {
  VGPU_NEED(flags == 0);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  OwnedMemory memory;
  VGPU_TRY(needManaged(address, count, memory));
  int number = deviceInvalid;
  VGPU_TRY(locationOf(location, number));
  changeOwned(address, [&](OwnedMemory &one) { one.prefetched = number; });
  return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t count) {
  VGPU_NEED(data && dataSize >= 4);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  OwnedMemory memory;
  VGPU_TRY(needManaged(address, count, memory));
  switch (attribute) {
  case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
    return give(data, int(memory.readMostly));
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    return give(data, memory.preferred);
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    return give(data, memory.prefetched);
  case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
    // Write all devices, then CU_DEVICE_INVALID.
    const size_t slots = dataSize / sizeof(int);
    for (size_t i = 0; i < slots; ++i) {
      const int number = i < Driver::get().devices.size() ? static_cast<int>(i) : deviceInvalid;
      std::memcpy(static_cast<char *>(data) + i * sizeof(int), &number, sizeof(int));
    }
    return CUDA_SUCCESS;
  }
  }
  return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown attribute ", int(attribute)));
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
                                 size_t numAttributes, CUdeviceptr address, size_t count) {
  VGPU_NEED(data && dataSizes && attributes && numAttributes);
  for (size_t i = 0; i < numAttributes; ++i)
    VGPU_TRY(cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], address, count));
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
