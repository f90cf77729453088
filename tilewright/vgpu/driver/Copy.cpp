// cuMemcpy*, cuMemset*.
#include "tilewright/vgpu/driver/Copy.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Arena.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include <cstring>

namespace tilewright::vgpu::driver {

/// The source or the destination of a 3D copy.
struct CopyEndpoint {
  CUmemorytype type;
  const void *host;
  CUdeviceptr device;
  size_t x, y, z, pitch, height;
};

/// Computes the address of the box, its pitch, and the distance between its slices.
static CUresult locateBox(CopyEndpoint endpoint, const CUDA_MEMCPY3D &asked,
                          const std::byte *&begin, size_t &pitch, size_t &slice) {
  uint64_t base = 0;
  switch (endpoint.type) {
  case CU_MEMORYTYPE_HOST:
    base = reinterpret_cast<uint64_t>(endpoint.host);
    break;
  case CU_MEMORYTYPE_DEVICE:
  case CU_MEMORYTYPE_UNIFIED:
    base = endpoint.device;
    break;
  case CU_MEMORYTYPE_ARRAY:
    return fail(CUDA_ERROR_NOT_SUPPORTED, "CUDA arrays are not supported");
  default:
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown memory type ", int(endpoint.type)));
  }
  const bool isSeveralRows = asked.Height > 1 || asked.Depth > 1;
  if (endpoint.pitch == 0)
    endpoint.pitch = asked.WidthInBytes + endpoint.x;
  if (isSeveralRows && endpoint.pitch < asked.WidthInBytes + endpoint.x)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("a pitch of ", endpoint.pitch, " bytes is less than the row width of ",
                       asked.WidthInBytes + endpoint.x, " bytes"));
  if (asked.Depth > 1 && endpoint.height < asked.Height + endpoint.y)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("a height of ", endpoint.height, " rows is less than the slice height of ",
                       asked.Height + endpoint.y, " rows"));
  const size_t rows = std::max(endpoint.height, asked.Height + endpoint.y);
  pitch = endpoint.pitch;
  slice = pitch * rows;
  begin = reinterpret_cast<const std::byte *>(base + endpoint.z * slice + endpoint.y * pitch +
                                              endpoint.x);
  const bool isEmpty = !asked.WidthInBytes || !asked.Height || !asked.Depth;
  VGPU_NEED(base || isEmpty);
  return CUDA_SUCCESS;
}

/// Computes the number of bytes from the first to the last byte of a box; returns false if it
/// overflows.
static bool spanOf(size_t width, size_t height, size_t depth, size_t pitch, size_t slice,
                   uint64_t &bytes) {
  uint64_t rows = 0, slices = 0;
  return !__builtin_mul_overflow(height - 1, pitch, &rows) &&
         !__builtin_mul_overflow(depth - 1, slice, &slices) &&
         !__builtin_add_overflow(rows, slices, &bytes) &&
         !__builtin_add_overflow(bytes, width, &bytes);
}

/// The number of bytes from `address` to the end of its allocation, or to the end of the last one
/// of several contiguous mappings.
static uint64_t bytesFrom(const OwnedMemory &memory, uint64_t address) {
  uint64_t end = memory.begin + memory.bytes;
  if (memory.kind == AllocationKind::mapped)
    for (auto next = ownedAt(end); next && next->kind == AllocationKind::mapped;
         next = ownedAt(end))
      end = next->begin + next->bytes;
  return end - address;
}

/// Whether a copy or fill may access the memory. Device memory must lie in one live allocation.
/// Host memory is checked only inside the arena, where it must lie in a live allocation, too.
static CUresult checkMemory(CUmemorytype type, const std::byte *begin, uint64_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(begin);
  if (Driver::get().settings.usesHostMemory)
    return CUDA_SUCCESS;
  const std::optional<OwnedMemory> memory = ownedAt(address);
  if (memory && bytes <= bytesFrom(*memory, address))
    return CUDA_SUCCESS;
  const bool isHosts =
      memory ? memory->kind == AllocationKind::registered : type != CU_MEMORYTYPE_DEVICE;
  if (isHosts && type != CU_MEMORYTYPE_DEVICE && !arena().holds(address))
    return CUDA_SUCCESS;
  return fail(
      CUDA_ERROR_INVALID_VALUE,
      concat("the access of ", bytes, " bytes at ", begin, " ",
             machine::describeInvalid(memory ? address + bytesFrom(*memory, address) : address)));
}

CUresult checkCopy(const CopyWork &work) {
  if (!work.width || !work.height || !work.depth)
    return CUDA_SUCCESS;
  uint64_t from = 0, to = 0;
  VGPU_NEED(spanOf(work.width, work.height, work.depth, work.fromPitch, work.fromSlice, from));
  VGPU_NEED(spanOf(work.width, work.height, work.depth, work.toPitch, work.toSlice, to));
  VGPU_TRY(checkMemory(work.asked.srcMemoryType, work.from, from));
  return checkMemory(work.asked.dstMemoryType, work.to, to);
}

CUresult checkFill(const FillWork &work) {
  if (!work.width || !work.height)
    return CUDA_SUCCESS;
  uint64_t width = 0, bytes = 0;
  VGPU_NEED(!__builtin_mul_overflow(work.width, size_t(work.elementSize), &width));
  VGPU_NEED(spanOf(width, work.height, 1, work.pitch, 0, bytes));
  return checkMemory(CU_MEMORYTYPE_DEVICE, work.to, bytes);
}

CUresult checkRange(uint64_t begin, uint64_t bytes) {
  if (bytes == 0)
    return CUDA_SUCCESS;
  return checkMemory(CU_MEMORYTYPE_DEVICE, reinterpret_cast<const std::byte *>(begin), bytes);
}

CUresult makeCopy(const CUDA_MEMCPY3D &asked, CopyWork &work) {
  const std::byte *to = nullptr;
  VGPU_TRY(locateBox({asked.srcMemoryType, asked.srcHost, asked.srcDevice, asked.srcXInBytes,
                      asked.srcY, asked.srcZ, asked.srcPitch, asked.srcHeight},
                     asked, work.from, work.fromPitch, work.fromSlice));
  VGPU_TRY(locateBox({asked.dstMemoryType, asked.dstHost, asked.dstDevice, asked.dstXInBytes,
                      asked.dstY, asked.dstZ, asked.dstPitch, asked.dstHeight},
                     asked, to, work.toPitch, work.toSlice));
  work.to = const_cast<std::byte *>(to);
  work.width = asked.WidthInBytes;
  work.height = asked.Height;
  work.depth = asked.Depth;
  work.asked = asked;
  return checkCopy(work);
}

void stagePageable(CopyWork &work) {
  const bool isEmpty = !work.width || !work.height || !work.depth;
  const auto address = reinterpret_cast<uint64_t>(work.from);
  // Kernels may write any host memory if the settings allow it.
  if (isEmpty || work.asked.srcMemoryType == CU_MEMORYTYPE_DEVICE || arena().holds(address) ||
      ownedAt(address) || Driver::get().settings.usesHostMemory)
    return;
  auto staged = std::make_shared<std::vector<std::byte>>(work.width * work.height * work.depth);
  std::byte *to = staged->data();
  for (size_t z = 0; z < work.depth; ++z)
    for (size_t y = 0; y < work.height; ++y, to += work.width)
      std::memcpy(to, work.from + z * work.fromSlice + y * work.fromPitch, work.width);
  work.from = staged->data();
  work.fromPitch = work.width;
  work.fromSlice = work.width * work.height;
  work.staged = std::move(staged);
}

CUresult makeFill(const CUDA_MEMSET_NODE_PARAMS &asked, FillWork &work) {
  const unsigned size = asked.elementSize;
  VGPU_NEED(size == 1 || size == 2 || size == 4);
  VGPU_NEED(asked.dst % size == 0 && (asked.height <= 1 || asked.pitch % size == 0));
  VGPU_NEED(asked.dst || asked.width == 0 || asked.height == 0);
  if (asked.height > 1 && asked.pitch < asked.width * size)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("a pitch of ", asked.pitch, " bytes is less than the row width of ",
                       asked.width * size, " bytes"));
  work = {reinterpret_cast<std::byte *>(asked.dst),
          asked.value,
          size,
          asked.width,
          asked.height,
          asked.pitch};
  return checkFill(work);
}

/// Describes a contiguous copy as a CUDA_MEMCPY3D, the form in which a program queries the
/// parameters of a graph node.
static CUDA_MEMCPY3D flat(CUmemorytype toType, uint64_t to, CUmemorytype fromType, uint64_t from,
                          size_t bytes) {
  CUDA_MEMCPY3D asked{};
  asked.srcMemoryType = fromType;
  asked.dstMemoryType = toType;
  asked.srcHost = reinterpret_cast<const void *>(from);
  asked.dstHost = reinterpret_cast<void *>(to);
  asked.srcDevice = from;
  asked.dstDevice = to;
  asked.WidthInBytes = bytes;
  asked.Height = asked.Depth = 1;
  return asked;
}

static CUDA_MEMCPY3D boxOf(const CUDA_MEMCPY2D &copy) {
  CUDA_MEMCPY3D asked{};
  asked.srcXInBytes = copy.srcXInBytes;
  asked.srcY = copy.srcY;
  asked.srcMemoryType = copy.srcMemoryType;
  asked.srcHost = copy.srcHost;
  asked.srcDevice = copy.srcDevice;
  asked.srcPitch = copy.srcPitch;
  asked.dstXInBytes = copy.dstXInBytes;
  asked.dstY = copy.dstY;
  asked.dstMemoryType = copy.dstMemoryType;
  asked.dstHost = copy.dstHost;
  asked.dstDevice = copy.dstDevice;
  asked.dstPitch = copy.dstPitch;
  asked.WidthInBytes = copy.WidthInBytes;
  asked.Height = copy.Height;
  asked.Depth = 1;
  return asked;
}

static CUresult boxOf(const CUDA_MEMCPY3D_PEER &copy, CUDA_MEMCPY3D &asked) {
  VGPU_NEED(Driver::get().contexts.find(copy.srcContext) &&
            Driver::get().contexts.find(copy.dstContext));
  static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D));
  std::memcpy(&asked, &copy, sizeof(asked));
  asked.reserved0 = asked.reserved1 = nullptr;
  return CUDA_SUCCESS;
}

/// Converts `asked` to work and passes it to `give`: submit() or submitAndWait().
template <typename Made, typename Asked>
static CUresult submitMade(CUresult (*make)(const Asked &, Made &), const Asked &asked,
                           CUstream handle,
                           CUresult (*give)(const std::shared_ptr<Stream> &, Work)) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  Made work;
  VGPU_TRY(make(asked, work));
  return give(stream, work);
}

static CUresult copyNow(const CUDA_MEMCPY3D &asked) {
  return submitMade(makeCopy, asked, nullptr, submitAndWait);
}
static CUresult copyLater(const CUDA_MEMCPY3D &asked, CUstream stream) {
  return submitMade(makeCopy, asked, stream, submit);
}
static CUresult fillNow(const CUDA_MEMSET_NODE_PARAMS &asked) {
  return submitMade(makeFill, asked, nullptr, submitAndWait);
}
static CUresult fillLater(const CUDA_MEMSET_NODE_PARAMS &asked, CUstream stream) {
  return submitMade(makeFill, asked, stream, submit);
}

static CUresult needContexts(CUcontext one, CUcontext other) {
  VGPU_NEED(Driver::get().contexts.find(one) && Driver::get().contexts.find(other));
  return CUDA_SUCCESS;
}

static CUDA_MEMSET_NODE_PARAMS rows(CUdeviceptr to, size_t pitch, unsigned value, unsigned size,
                                    size_t width, size_t height) {
  return {to, pitch, value, size, width, height};
}

static constexpr CUmemorytype host = CU_MEMORYTYPE_HOST, device = CU_MEMORYTYPE_DEVICE,
                              unified = CU_MEMORYTYPE_UNIFIED;
static uint64_t number(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

namespace api {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t byteCount) {
  return copyNow(flat(unified, to, unified, from, byteCount));
}
CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t byteCount) {
  VGPU_TRY(needContexts(dstContext, srcContext));
  return copyNow(flat(device, dstDevice, device, srcDevice, byteCount));
}
CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t byteCount) {
  return copyNow(flat(device, dstDevice, host, number(srcHost), byteCount));
}
CUresult cuMemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t byteCount) {
  return copyNow(flat(host, number(dstHost), device, srcDevice, byteCount));
}
CUresult cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t byteCount) {
  return copyNow(flat(device, dstDevice, device, srcDevice, byteCount));
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy) {
  VGPU_NEED(copy);
  return copyNow(boxOf(*copy));
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy) { return cuMemcpy2D(copy); }
CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy) {
  VGPU_NEED(copy);
  return copyNow(*copy);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) {
  VGPU_NEED(copy);
  CUDA_MEMCPY3D asked;
  VGPU_TRY(boxOf(*copy, asked));
  return copyNow(asked);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t byteCount, CUstream stream) {
  return copyLater(flat(unified, to, unified, from, byteCount), stream);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t byteCount, CUstream stream) {
  VGPU_TRY(needContexts(dstContext, srcContext));
  return copyLater(flat(device, dstDevice, device, srcDevice, byteCount), stream);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void *srcHost, size_t byteCount,
                           CUstream stream) {
  return copyLater(flat(device, dstDevice, host, number(srcHost), byteCount), stream);
}
CUresult cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr srcDevice, size_t byteCount,
                           CUstream stream) {
  return copyLater(flat(host, number(dstHost), device, srcDevice, byteCount), stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t byteCount,
                           CUstream stream) {
  return copyLater(flat(device, dstDevice, device, srcDevice, byteCount), stream);
}
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  VGPU_NEED(copy);
  return copyLater(boxOf(*copy), stream);
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream) {
  VGPU_NEED(copy);
  return copyLater(*copy, stream);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
  VGPU_NEED(copy);
  CUDA_MEMCPY3D asked;
  VGPU_TRY(boxOf(*copy, asked));
  return copyLater(asked, stream);
}

CUresult cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t n) {
  return fillNow(rows(dstDevice, 0, uc, 1, n, 1));
}
CUresult cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t n) {
  return fillNow(rows(dstDevice, 0, us, 2, n, 1));
}
CUresult cuMemsetD32(CUdeviceptr dstDevice, unsigned ui, size_t n) {
  return fillNow(rows(dstDevice, 0, ui, 4, n, 1));
}
CUresult cuMemsetD2D8(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t width,
                      size_t height) {
  return fillNow(rows(dstDevice, dstPitch, uc, 1, width, height));
}
CUresult cuMemsetD2D16(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t width,
                       size_t height) {
  return fillNow(rows(dstDevice, dstPitch, us, 2, width, height));
}
CUresult cuMemsetD2D32(CUdeviceptr dstDevice, size_t dstPitch, unsigned ui, size_t width,
                       size_t height) {
  return fillNow(rows(dstDevice, dstPitch, ui, 4, width, height));
}
CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t n, CUstream stream) {
  return fillLater(rows(dstDevice, 0, uc, 1, n, 1), stream);
}
CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t n, CUstream stream) {
  return fillLater(rows(dstDevice, 0, us, 2, n, 1), stream);
}
CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned ui, size_t n, CUstream stream) {
  return fillLater(rows(dstDevice, 0, ui, 4, n, 1), stream);
}
CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t width,
                           size_t height, CUstream stream) {
  return fillLater(rows(dstDevice, dstPitch, uc, 1, width, height), stream);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t width,
                            size_t height, CUstream stream) {
  return fillLater(rows(dstDevice, dstPitch, us, 2, width, height), stream);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned ui, size_t width,
                            size_t height, CUstream stream) {
  return fillLater(rows(dstDevice, dstPitch, ui, 4, width, height), stream);
}

} // namespace api
} // namespace tilewright::vgpu::driver
