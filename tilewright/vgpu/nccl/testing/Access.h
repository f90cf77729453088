// For tests: how collective/nccl's engine reaches memory, through the virtual driver.
#ifndef TILEWRIGHT_VGPU_NCCL_TESTING_ACCESS_H
#define TILEWRIGHT_VGPU_NCCL_TESTING_ACCESS_H

#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/testing/Nccl.h"

namespace tilewright::vgpu::nccl {

/// The derived class knows the devices.
class DriverAccess : public collective::DeviceAccess {
public:
  Status copy(void *stream, std::byte *to, const std::byte *from, size_t bytes) override {
    return check(cuda().cuMemcpyDtoDAsync_v2(reinterpret_cast<uint64_t>(to),
                                             reinterpret_cast<uint64_t>(from), bytes,
                                             static_cast<CUstream>(stream)));
  }
  Status fillWithZeros(void *stream, std::byte *to, size_t bytes) override {
    return check(cuda().cuMemsetD8Async(reinterpret_cast<uint64_t>(to), 0, bytes,
                                        static_cast<CUstream>(stream)));
  }

private:
  static Status check(CUresult result) {
    return result == CUDA_SUCCESS ? Status()
                                  : Status(Code::internal, concat("CUDA error ", result));
  }
};

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_TESTING_ACCESS_H
