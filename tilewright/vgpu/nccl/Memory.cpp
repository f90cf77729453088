// Memory that is registered with communicators: ncclMemAlloc, ncclCommRegister,
// ncclCommWindowRegister.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Cuda.h"
#include "tilewright/vgpu/nccl/Functions.h"
#include "tilewright/vgpu/nccl/Group.h"

#include <cstring>

namespace tilewright::vgpu::nccl {

/// Handles of windows and registrations are never reused.
static uintptr_t newHandle() {
  static std::atomic<uintptr_t> last = 0x100000;
  return last += 0x10;
}

namespace {
struct WindowFacts {
  uint64_t bytes;
  int32_t flags;
};
} // namespace

/// All ranks must register windows of the same size, in the same order.
static ncclResult_t runRegister(const std::shared_ptr<Comm> &comm, void *begin, WindowFacts mine,
                                ncclWindow_t *result) {
  std::vector<std::string> all;
  NCCL_TRY(comm->exchange("ncclCommWindowRegister", std::as_bytes(std::span(&mine, 1)), all));
  for (int other = 0; other < comm->ranks; ++other) {
    WindowFacts theirs;
    std::memcpy(&theirs, all[static_cast<size_t>(other)].data(), sizeof theirs);
    if (theirs.bytes != mine.bytes || theirs.flags != mine.flags)
      return comm->fail(ncclInvalidUsage,
                        concat("ranks register different windows: rank ", comm->rank, " ",
                               mine.bytes, " bytes with flags ", mine.flags, ", rank ", other, " ",
                               theirs.bytes, " bytes with flags ", theirs.flags));
  }
  *result = reinterpret_cast<ncclWindow_t>(newHandle());
  comm->windows[*result] = {begin, mine.bytes};
  return ncclSuccess;
}

/// Whether an address range lies in device memory.
static bool isDeviceMemory(const void *begin, size_t bytes) {
  CUdeviceptr base = 0;
  size_t size = 0;
  const auto address = reinterpret_cast<CUdeviceptr>(begin);
  return cuMemGetAddressRange_v2(&base, &size, address) == CUDA_SUCCESS &&
         bytes <= base + size - address;
}

namespace api {

ncclResult_t ncclMemAlloc(void **ptr, size_t size) {
  CUcontext context = nullptr;
  if (!ptr || size == 0)
    return failCall(ncclInvalidArgument, "a null pointer, or no bytes");
  if (cuInit(0) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
    return failCall(ncclUnhandledCudaError, "no context is current");
  constexpr size_t page = NCCL_WIN_REQUIRED_ALIGNMENT;
  CUdeviceptr address = 0;
  if (cuMemAlloc_v2(&address, (size + page - 1) / page * page) != CUDA_SUCCESS)
    return failCall(ncclUnhandledCudaError, concat("no memory for ", size, " bytes"));
  *ptr = reinterpret_cast<void *>(address);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr) {
  if (!ptr)
    return ncclSuccess;
  const auto address = reinterpret_cast<CUdeviceptr>(ptr);
  for (const std::shared_ptr<Comm> &comm : allComms())
    for (const auto &[handle, window] : comm->windows)
      if (window.begin == ptr)
        return failCall(ncclInvalidUsage,
                        concat("the memory at ", ptr, " is freed while a window of rank ",
                               comm->rank, " uses it; call ncclCommWindowDeregister first"));
  return cuMemFree_v2(address) == CUDA_SUCCESS
             ? ncclSuccess
             : failCall(ncclUnhandledCudaError, concat(ptr, " is not the begin of an allocation"));
}

ncclResult_t ncclCommRegister(ncclComm_t handle, void *buff, size_t size, void **result) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  NCCL_TRY(comm->checkReady());
  if (!buff || size == 0 || !result || !isDeviceMemory(buff, size))
    return comm->fail(ncclInvalidArgument,
                      concat("ncclCommRegister: ", size, " bytes at ", buff,
                             " are not in an allocation of a device, or the handle is null"));
  *result = reinterpret_cast<void *>(newHandle());
  comm->registrations[*result] = {buff, size};
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t handle, void *registration) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  return comm->registrations.erase(registration)
             ? ncclSuccess
             : comm->fail(ncclInvalidArgument, "ncclCommDeregister: invalid handle");
}

ncclResult_t ncclCommWindowRegister(ncclComm_t handle, void *buff, size_t size, ncclWindow_t *win,
                                    int winFlags) {
  beginGroup();
  const ncclResult_t added = noteGroupError([&]() -> ncclResult_t {
    std::shared_ptr<Comm> comm = findComm(handle);
    if (!comm)
      return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
    NCCL_TRY(comm->checkReady());
    if (!win || !buff || size == 0 || !isDeviceMemory(buff, size) ||
        reinterpret_cast<uintptr_t>(buff) % NCCL_WIN_REQUIRED_ALIGNMENT != 0 ||
        winFlags < NCCL_WIN_DEFAULT || winFlags > NCCL_WIN_COLL_SYMMETRIC)
      return comm->fail(ncclInvalidArgument,
                        concat("ncclCommWindowRegister: ", size, " bytes at ", buff, " with flags ",
                               winFlags, ", expected device memory that begins at a multiple of ",
                               NCCL_WIN_REQUIRED_ALIGNMENT,
                               " bytes, such as that of ncclMemAlloc"));
    *win = nullptr;
    addJob({{comm}, [=] { return runRegister(comm, buff, {size, winFlags}, win); }});
    return ncclSuccess;
  }());
  const ncclResult_t ended = endGroup();
  return added != ncclSuccess ? added : ended;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t handle, ncclWindow_t win) {
  std::shared_ptr<Comm> comm = findComm(handle);
  if (!comm)
    return failCall(ncclInvalidArgument, "invalid or destroyed communicator");
  return comm->windows.erase(win)
             ? ncclSuccess
             : comm->fail(ncclInvalidArgument, "ncclCommWindowDeregister: invalid window");
}

} // namespace api
} // namespace tilewright::vgpu::nccl
