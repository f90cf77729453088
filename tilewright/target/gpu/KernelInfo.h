// KernelInfo: how to launch one sm.kernel.
#ifndef TILEWRIGHT_TARGET_GPU_KERNELINFO_H
#define TILEWRIGHT_TARGET_GPU_KERNELINFO_H

#include <array>
#include <cstdint>
#include <string>

namespace tilewright::gpu {

/// The launch parameters of one sm.kernel.
struct KernelInfo {
  std::string name;   // in the module
  std::string symbol; // in the code
  std::array<int64_t, 3> grid = {1, 1, 1};
  int64_t threads = 32; // of a block
  int64_t sharedBytes = 0;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_KERNELINFO_H
