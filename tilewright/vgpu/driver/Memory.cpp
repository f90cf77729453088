#include "tilewright/vgpu/driver/Memory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Arena.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Pool.h"
#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"

#include <map>

namespace tilewright::vgpu::driver {

namespace {
struct Owned {
  std::mutex mutex;
  std::map<uint64_t, OwnedMemory> byBegin; // guarded by mutex
};
} // namespace

static Owned &owned() {
  static auto &only = *new Owned(); // outlives main(), as the streams do
  return only;
}

static constexpr size_t alignment = Arena::alignment;

void *takeMemory(Device *device, size_t bytes) {
  const bool fits = !device || (bytes <= device->memoryBytes &&
                                device->usedBytes.fetch_add(bytes) + bytes <= device->memoryBytes);
  void *memory = fits ? arena().take(bytes) : nullptr;
  if (!memory && device && bytes <= device->memoryBytes)
    device->usedBytes -= bytes;
  return memory;
}

void giveMemory(Device *device, void *memory, size_t bytes) {
  arena().give(memory);
  if (device)
    device->usedBytes -= bytes;
}

/// The device to whose memory a kind of allocation is charged; null for the host.
static Device *payer(AllocationKind kind, Device *device) {
  return kind == AllocationKind::host ? nullptr : device;
}

void addOwned(OwnedMemory memory) {
  // Memory that the host can write without an API call counts as initialised. Checkers know mapped
  // memory by its home address, from its creation on.
  if (memory.kind != AllocationKind::registered && memory.kind != AllocationKind::variable &&
      memory.kind != AllocationKind::mapped)
    tellAllocated(memory.begin, memory.bytes,
                  memory.kind != AllocationKind::device && memory.kind != AllocationKind::pool);
  machine::allocations().add({.begin = memory.begin,
                              .end = memory.begin + memory.bytes,
                              .kind = memory.kind,
                              .device = memory.device ? memory.device->ordinal : -1,
                              .sharedWith = memory.sharedWith,
                              .home = memory.home});
  Owned &all = owned();
  std::lock_guard lock(all.mutex);
  all.byBegin[memory.begin] = std::move(memory);
}

void sharePool(const MemoryPool &pool, uint64_t sharedWith) {
  Owned &all = owned();
  std::lock_guard lock(all.mutex);
  for (auto &[begin, memory] : all.byBegin)
    if (memory.pool.get() == &pool) {
      memory.sharedWith = sharedWith;
      machine::allocations().share(begin, sharedWith);
    }
}

std::optional<OwnedMemory> takeOwned(uint64_t begin) {
  tellFreed(begin);
  machine::allocations().remove(begin);
  Owned &all = owned();
  std::lock_guard lock(all.mutex);
  auto found = all.byBegin.find(begin);
  if (found == all.byBegin.end())
    return std::nullopt;
  OwnedMemory memory = std::move(found->second);
  all.byBegin.erase(found);
  return memory;
}

/// The caller holds the lock.
static OwnedMemory *findOwned(Owned &all, uint64_t address) {
  auto next = all.byBegin.upper_bound(address);
  if (next == all.byBegin.begin())
    return nullptr;
  OwnedMemory &memory = std::prev(next)->second;
  return address < memory.begin + memory.bytes ? &memory : nullptr;
}

std::optional<OwnedMemory> ownedAt(uint64_t address) {
  Owned &all = owned();
  std::lock_guard lock(all.mutex);
  const OwnedMemory *found = findOwned(all, address);
  return found ? std::optional(*found) : std::nullopt;
}

void changeOwned(uint64_t address, const std::function<void(OwnedMemory &)> &change) {
  Owned &all = owned();
  std::lock_guard lock(all.mutex);
  if (OwnedMemory *found = findOwned(all, address))
    change(*found);
}

CUresult allocate(Context &context, size_t bytes, AllocationKind kind, unsigned flags,
                  CUdeviceptr &address) {
  void *memory = takeMemory(payer(kind, &context.device), bytes);
  if (!memory)
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                concat("cannot allocate ", bytes,
                       " bytes: ", context.device.memoryBytes - context.device.usedBytes,
                       " bytes are free on device ", context.device.ordinal,
                       "; raise TILEWRIGHT_VGPU_MEMORY"));
  address = reinterpret_cast<CUdeviceptr>(memory);
  OwnedMemory entry;
  entry.begin = address;
  entry.bytes = bytes;
  entry.kind = kind;
  entry.device = &context.device;
  entry.context = context.weak_from_this();
  entry.flags = flags;
  addOwned(std::move(entry));
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address, AllocationKind kind, AllocationKind orKind) {
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || memory->begin != address || (memory->kind != kind && memory->kind != orKind))
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the address is not the start of an allocation that this function can free");
  memory = takeOwned(address);
  if (memory)
    giveMemory(payer(memory->kind, memory->device), reinterpret_cast<void *>(memory->begin),
               memory->bytes);
  return CUDA_SUCCESS;
}

void releaseMemoryOf(const Context &context) {
  std::vector<uint64_t> addresses;
  {
    Owned &all = owned();
    std::lock_guard lock(all.mutex);
    for (const auto &[begin, memory] : all.byBegin)
      if (memory.context.lock().get() == &context && memory.kind != AllocationKind::pool &&
          memory.kind != AllocationKind::variable)
        addresses.push_back(begin);
  }
  for (uint64_t begin : addresses)
    if (std::optional<OwnedMemory> memory = takeOwned(begin);
        memory && memory->kind != AllocationKind::registered)
      giveMemory(payer(memory->kind, memory->device), reinterpret_cast<void *>(memory->begin),
                 memory->bytes);
}

namespace api {

CUresult cuMemGetInfo(size_t *freeBytes, size_t *totalBytes) {
  VGPU_NEED(freeBytes && totalBytes);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  *totalBytes = context->device.memoryBytes;
  *freeBytes = context->device.memoryBytes - context->device.usedBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  VGPU_NEED(address && bytes);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  VGPU_TRY(refuseWhileCapturing(*context));
  return allocate(*context, bytes, AllocationKind::device, 0, *address);
}

CUresult cuMemAllocPitch(CUdeviceptr *address, size_t *pitch, size_t widthInBytes, size_t height,
                         unsigned elementSizeBytes) {
  VGPU_NEED(address && pitch && widthInBytes && height);
  VGPU_NEED(elementSizeBytes == 4 || elementSizeBytes == 8 || elementSizeBytes == 16);
  *pitch = (widthInBytes + alignment - 1) / alignment * alignment;
  VGPU_NEED(*pitch >= widthInBytes && height <= SIZE_MAX / *pitch);
  return cuMemAlloc(address, *pitch * height);
}

CUresult cuMemFree(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  if (!address)
    return CUDA_SUCCESS;
  VGPU_TRY(refuseWhileCapturing(*context));
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (memory && memory->begin == address && memory->device) {
    // Work submitted before this call may still use the memory.
    if (std::shared_ptr<Context> owner = memory->context.lock())
      VGPU_TRY(owner->synchronise());
    if (memory->kind == AllocationKind::pool) {
      endUse(address);
      return CUDA_SUCCESS;
    }
  }
  return release(address, AllocationKind::device, AllocationKind::managed);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory)
    return fail(CUDA_ERROR_NOT_FOUND, "the address is not in an allocation");
  if (base)
    *base = memory->begin;
  if (size)
    *size = memory->bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  VGPU_NEED(pointer && bytes && (flags & ~7u) == 0);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  VGPU_TRY(refuseWhileCapturing(*context));
  CUdeviceptr address = 0;
  VGPU_TRY(
      allocate(*context, bytes, AllocationKind::host, flags | CU_MEMHOSTALLOC_DEVICEMAP, address));
  *pointer = reinterpret_cast<void *>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *pointer) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  VGPU_TRY(refuseWhileCapturing(*context));
  VGPU_TRY(context->synchronise());
  return release(reinterpret_cast<CUdeviceptr>(pointer), AllocationKind::host,
                 AllocationKind::host);
}

static std::optional<OwnedMemory> hostMemoryAt(const void *pointer) {
  std::optional<OwnedMemory> memory = ownedAt(reinterpret_cast<uint64_t>(pointer));
  const bool isHost = memory && (memory->kind == AllocationKind::host ||
                                 memory->kind == AllocationKind::registered);
  return isHost ? memory : std::nullopt;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *pointer, unsigned flags) {
  VGPU_NEED(address && flags == 0);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  if (!hostMemoryAt(pointer))
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the memory was neither allocated nor registered with the driver");
  *address = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
  VGPU_NEED(flags);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::optional<OwnedMemory> memory = hostMemoryAt(pointer);
  if (!memory)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the memory was neither allocated nor registered with the driver");
  *flags = memory->flags;
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned flags) {
  VGPU_NEED(pointer && bytes && (flags & ~15u) == 0);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  const auto begin = reinterpret_cast<uint64_t>(pointer);
  if (machine::allocations().overlaps(begin, bytes))
    return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                "a part of the range is already registered or allocated");
  OwnedMemory entry;
  entry.begin = begin;
  entry.bytes = bytes;
  entry.kind = AllocationKind::registered;
  entry.device = &context->device;
  entry.context = context;
  entry.flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP;
  addOwned(std::move(entry));
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *pointer) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  std::optional<OwnedMemory> memory = ownedAt(reinterpret_cast<uint64_t>(pointer));
  if (!memory || memory->kind != AllocationKind::registered ||
      memory->begin != reinterpret_cast<uint64_t>(pointer))
    return fail(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                "the address is not the start of a registered range");
  VGPU_TRY(context->synchronise());
  takeOwned(memory->begin);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  VGPU_NEED(address && bytes && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST));
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  VGPU_TRY(refuseWhileCapturing(*context));
  return allocate(*context, bytes, AllocationKind::managed, flags, *address);
}

} // namespace api
} // namespace tilewright::vgpu::driver
