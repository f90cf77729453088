// Turns the arguments of a launch into work.
#ifndef TILEWRIGHT_VGPU_DRIVER_LAUNCH_H
#define TILEWRIGHT_VGPU_DRIVER_LAUNCH_H

#include "tilewright/vgpu/driver/Work.h"
#include "tilewright/vgpu/driver/module/Module.h"

namespace tilewright::vgpu::driver {

/// The number of blocks of a grid, or of threads of a block.
inline uint64_t volume(const std::array<uint32_t, 3> &sizes) {
  return uint64_t(sizes[0]) * sizes[1] * sizes[2];
}

/// Stores one attribute of a launch or of a kernel node.
CUresult takeAttribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue &value,
                       LaunchAttributes &work);

/// Takes the sizes, attributes and arguments of a launch and checks them against the kernel and the
/// chip. `extra` or `values` gives the arguments, as documented for cuLaunchKernel.
CUresult makeLaunch(const CUlaunchConfig &config, const std::shared_ptr<Function> &function,
                    void **values, void **extra, KernelWork &work);
/// Checks `work` as makeLaunch() does, for graph nodes whose sizes change.
CUresult checkLaunch(const KernelWork &work);
/// Copies the arguments into `parameters`.
CUresult takeArguments(const Function &function, void **values, void **extra,
                       std::vector<std::byte> &parameters);

/// The number of blocks of `threads` threads that fit on one multiprocessor.
unsigned residentBlocks(const Function &function, unsigned threads, size_t dynamicShared);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_LAUNCH_H
