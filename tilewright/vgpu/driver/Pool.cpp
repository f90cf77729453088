#include "tilewright/vgpu/driver/Pool.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/Work.h"
#include "tilewright/vgpu/driver/graph/Capture.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

/// The other devices that may access the memory of a pool, one bit for each. The caller holds the
/// lock.
static uint64_t devicesWithAccess(const MemoryPool &pool) {
  uint64_t devices = 0;
  for (const auto &[ordinal, flags] : pool.access)
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      devices |= uint64_t(1) << ordinal;
  return devices;
}

static constexpr size_t granule = 512;
static size_t rounded(size_t bytes) { return (bytes + granule - 1) / granule * granule; }

/// Frees cached memory until at most `most` bytes are reserved. The caller holds the pool's lock.
static void trim(MemoryPool &pool, uint64_t most) {
  while (pool.reserved > most && !pool.kept.empty()) {
    auto largest = std::prev(pool.kept.end());
    giveMemory(&pool.device, largest->second, largest->first);
    pool.reserved -= largest->first;
    pool.kept.erase(largest);
  }
}

MemoryPool::~MemoryPool() { trim(*this, 0); }

static void countUse(MemoryPool &pool, uint64_t bytes) {
  pool.used += bytes;
  pool.usedHigh = std::max(pool.usedHigh, pool.used);
}

CUresult allocateFrom(const std::shared_ptr<MemoryPool> &pool, Context &context, size_t bytes,
                      bool isOfGraph, CUdeviceptr &address) {
  const size_t whole = rounded(bytes);
  void *memory = nullptr;
  {
    std::lock_guard lock(pool->mutex);
    const uint64_t most = pool->properties.maxSize;
    if (auto found = pool->kept.find(whole); found != pool->kept.end()) {
      memory = found->second;
      pool->kept.erase(found);
    } else if (whole >= bytes && (!most || pool->used + whole <= most)) {
      memory = takeMemory(&pool->device, whole);
      if (!memory) {
        trim(*pool, 0);
        memory = takeMemory(&pool->device, whole);
      }
      if (memory)
        pool->reserved += whole;
      pool->reservedHigh = std::max(pool->reservedHigh, pool->reserved);
    }
    if (memory && !isOfGraph)
      countUse(*pool, whole);
  }
  if (!memory)
    return fail(
        CUDA_ERROR_OUT_OF_MEMORY,
        concat("cannot allocate ", bytes, " bytes from a pool of device ", pool->device.ordinal));
  address = reinterpret_cast<CUdeviceptr>(memory);
  OwnedMemory entry;
  entry.begin = address;
  entry.bytes = bytes;
  entry.kind = AllocationKind::pool;
  entry.device = &pool->device;
  entry.context = context.weak_from_this();
  entry.pool = pool;
  entry.isOfGraph = isOfGraph;
  entry.inUse = !isOfGraph;
  {
    std::lock_guard lock(pool->mutex);
    entry.sharedWith = devicesWithAccess(*pool);
  }
  addOwned(std::move(entry));
  return CUDA_SUCCESS;
}

void startUse(CUdeviceptr address, MemoryPool &pool) {
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || memory->inUse)
    return;
  changeOwned(address, [](OwnedMemory &one) { one.inUse = true; });
  std::lock_guard lock(pool.mutex);
  countUse(pool, rounded(memory->bytes));
}

void endUse(CUdeviceptr address) {
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || memory->begin != address || !memory->pool || !memory->inUse)
    return;
  MemoryPool &pool = *memory->pool;
  const size_t whole = rounded(memory->bytes);
  if (memory->isOfGraph)
    changeOwned(address, [](OwnedMemory &one) { one.inUse = false; });
  else
    takeOwned(address);
  std::lock_guard lock(pool.mutex);
  pool.used -= whole;
  if (!memory->isOfGraph) {
    pool.kept.emplace(whole, reinterpret_cast<void *>(address));
    trim(pool, std::max(pool.threshold, pool.used));
  }
}

static void dropGraphMemory(CUdeviceptr address) {
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || !memory->isOfGraph)
    return;
  if (memory->inUse) {
    // The program still uses the memory and will free it.
    changeOwned(address, [](OwnedMemory &one) { one.isOfGraph = false; });
    return;
  }
  takeOwned(address);
  std::lock_guard lock(memory->pool->mutex);
  memory->pool->kept.emplace(rounded(memory->bytes), reinterpret_cast<void *>(address));
  trim(*memory->pool, std::max(memory->pool->threshold, memory->pool->used));
}

std::shared_ptr<void> reservationOf(CUdeviceptr address) {
  return {reinterpret_cast<void *>(address),
          [](void *memory) { dropGraphMemory(reinterpret_cast<CUdeviceptr>(memory)); }};
}

static CUresult needPool(CUmemoryPool handle, std::shared_ptr<MemoryPool> &pool) {
  pool = Driver::get().pools.find(handle);
  return pool ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "invalid or destroyed pool");
}

static CUresult allocateInStream(CUdeviceptr *address, size_t bytes,
                                 std::shared_ptr<MemoryPool> pool, CUstream streamHandle) {
  VGPU_NEED(address);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(streamHandle, stream));
  if (!pool) {
    std::lock_guard lock(stream->context->device.mutex);
    pool = stream->context->device.pool;
  }
  *address = 0;
  if (bytes == 0)
    return CUDA_SUCCESS;
  const bool isCaptured = isCapturing(*stream);
  VGPU_TRY(allocateFrom(pool, *stream->context, bytes, isCaptured, *address));
  if (!isCaptured)
    return CUDA_SUCCESS;
  AllocateWork work;
  work.asked.poolProps = pool->properties;
  work.asked.bytesize = bytes;
  work.asked.dptr = *address;
  work.pool = pool;
  work.reservation = reservationOf(*address);
  return submit(stream, std::move(work));
}

static CUresult givePool(CUdevice number, CUmemoryPool *pool,
                         std::shared_ptr<MemoryPool> Device::*member) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::lock_guard lock(device->mutex);
  *pool = static_cast<CUmemoryPool>((device->*member)->handle);
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  return allocateInStream(address, bytes, nullptr, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle,
                                 CUstream stream) {
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  return allocateInStream(address, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream streamHandle) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(streamHandle, stream));
  if (!address)
    return CUDA_SUCCESS;
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || memory->begin != address || memory->kind != AllocationKind::pool)
    return fail(
        CUDA_ERROR_INVALID_VALUE,
        "the address is not the start of a pool allocation; free other memory with cuMemFree");
  return submit(stream, FreeWork{address});
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  VGPU_NEED(pool && properties);
  VGPU_NEED(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED);
  VGPU_NEED(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "pools cannot be shared between processes");
  Device *device = nullptr;
  VGPU_TRY(needDevice(properties->location.id, device));
  auto made = std::make_shared<MemoryPool>(*device);
  made->properties = *properties;
  *pool = static_cast<CUmemoryPool>(Driver::get().pools.add(made));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  std::lock_guard lock(pool->device.mutex);
  if (pool == pool->device.defaultPool)
    return fail(CUDA_ERROR_INVALID_VALUE, "the default pool of a device cannot be destroyed");
  if (pool == pool->device.pool)
    pool->device.pool = pool->device.defaultPool;
  Driver::get().pools.take(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t minBytesToKeep) {
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  std::lock_guard lock(pool->mutex);
  trim(*pool, std::max<uint64_t>(minBytesToKeep, pool->used));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  VGPU_NEED(value);
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  std::lock_guard lock(pool->mutex);
  switch (attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
        *static_cast<int *>(value);
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    pool->threshold = *static_cast<uint64_t *>(value);
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    VGPU_NEED(*static_cast<uint64_t *>(value) == 0);
    pool->reservedHigh = pool->reserved;
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    VGPU_NEED(*static_cast<uint64_t *>(value) == 0);
    pool->usedHigh = pool->used;
    return CUDA_SUCCESS;
  default:
    return fail(CUDA_ERROR_INVALID_VALUE, concat("attribute ", int(attribute), " cannot be set"));
  }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  VGPU_NEED(value);
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  std::lock_guard lock(pool->mutex);
  auto give = [&](uint64_t number) {
    *static_cast<uint64_t *>(value) = number;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    *static_cast<int *>(value) =
        pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    return give(pool->threshold);
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    return give(pool->reserved);
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    return give(pool->reservedHigh);
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    return give(pool->used);
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    return give(pool->usedHigh);
  default:
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown attribute ", int(attribute)));
  }
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count) {
  VGPU_NEED(map || count == 0);
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  for (size_t i = 0; i < count; ++i) {
    Device *device = nullptr;
    VGPU_NEED(map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE);
    VGPU_TRY(needDevice(map[i].location.id, device));
    if (device == &pool->device && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
      return fail(CUDA_ERROR_INVALID_VALUE, "a device's access to its own pool cannot be revoked");
  }
  std::lock_guard lock(pool->mutex);
  for (size_t i = 0; i < count; ++i)
    pool->access[map[i].location.id] = map[i].flags;
  sharePool(*pool, devicesWithAccess(*pool));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
                            CUmemLocation *location) {
  VGPU_NEED(flags && location && location->type == CU_MEM_LOCATION_TYPE_DEVICE);
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  Device *device = nullptr;
  VGPU_TRY(needDevice(location->id, device));
  std::lock_guard lock(pool->mutex);
  auto found = pool->access.find(location->id);
  *flags = found != pool->access.end() ? found->second
           : device == &pool->device   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice number) {
  VGPU_NEED(pool);
  return givePool(number, pool, &Device::defaultPool);
}

CUresult cuDeviceSetMemPool(CUdevice number, CUmemoryPool handle) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::shared_ptr<MemoryPool> pool;
  VGPU_TRY(needPool(handle, pool));
  VGPU_NEED(&pool->device == device);
  std::lock_guard lock(device->mutex);
  device->pool = pool;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice number) {
  VGPU_NEED(pool);
  return givePool(number, pool, &Device::pool);
}

} // namespace api
} // namespace tilewright::vgpu::driver
