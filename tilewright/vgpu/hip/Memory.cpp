// Memory: allocations, copies of rows, attributes of pointers.
#include "tilewright/vgpu/driver/Memory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/hip/Calls.h"

namespace tilewright::vgpu::hip {

using driver::AllocationKind;
using driver::OwnedMemory;

CUresult allocate(void **pointer, size_t bytes) {
  VGPU_NEED(pointer);
  *pointer = nullptr;
  return bytes == 0 ? CUDA_SUCCESS
                    : api::cuMemAlloc(reinterpret_cast<CUdeviceptr *>(pointer), bytes);
}

CUresult allocateManaged(void **pointer, size_t bytes, unsigned flags) {
  VGPU_NEED(pointer);
  return api::cuMemAllocManaged(reinterpret_cast<CUdeviceptr *>(pointer), bytes, flags);
}

CUresult allocateHost(void **pointer, size_t bytes, unsigned flags) {
  VGPU_NEED(pointer);
  *pointer = nullptr;
  // The other flags choose a NUMA node and caches, which do not change results.
  constexpr unsigned known =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  return bytes == 0 ? CUDA_SUCCESS : api::cuMemHostAlloc(pointer, bytes, flags & known);
}

CUresult freeDevice(void *pointer) {
  return pointer ? api::cuMemFree(reinterpret_cast<CUdeviceptr>(pointer)) : CUDA_SUCCESS;
}

CUresult freeHost(void *pointer) { return pointer ? api::cuMemFreeHost(pointer) : CUDA_SUCCESS; }

CUresult getPointerAttributes(hipPointerAttribute_t *attributes, const void *pointer) {
  VGPU_NEED(attributes && pointer);
  *attributes = {};
  attributes->type = hipMemoryTypeUnregistered;
  attributes->device = -2; // hipInvalidDeviceId
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const std::optional<OwnedMemory> memory = driver::ownedAt(address);
  if (!memory)
    return CUDA_SUCCESS; // since HIP 6 not an error
  attributes->device = memory->device ? memory->device->ordinal : 0;
  attributes->allocationFlags = memory->flags;
  attributes->devicePointer = const_cast<void *>(pointer);
  switch (memory->kind) {
  case AllocationKind::host:
  case AllocationKind::registered:
    attributes->type = hipMemoryTypeHost;
    attributes->hostPointer = attributes->devicePointer;
    break;
  case AllocationKind::managed:
    attributes->type = hipMemoryTypeManaged;
    attributes->hostPointer = attributes->devicePointer;
    attributes->isManaged = 1;
    break;
  default:
    attributes->type = hipMemoryTypeDevice;
  }
  return CUDA_SUCCESS;
}

CUresult checkKind(hipMemcpyKind kind) {
  return kind >= hipMemcpyHostToHost && kind <= hipMemcpyDefault
             ? CUDA_SUCCESS
             : fail(result(hipErrorInvalidMemcpyDirection),
                    concat("kind ", int(kind), " of a copy is not valid, expected 0 to 4"));
}

CUresult copy2D(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                size_t height, hipMemcpyKind kind, const CUstream *stream) {
  VGPU_TRY(checkKind(kind));
  VGPU_NEED(width <= toPitch && width <= fromPitch);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  copy.srcPitch = fromPitch;
  copy.dstPitch = toPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return stream ? api::cuMemcpy2DAsync(&copy, *stream) : api::cuMemcpy2D(&copy);
}

} // namespace tilewright::vgpu::hip
