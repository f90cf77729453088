// From the arguments of a launch to work.
#ifndef TILEWRIGHT_VGPU_DRIVER_LAUNCH_H
#define TILEWRIGHT_VGPU_DRIVER_LAUNCH_H

#include "tilewright/vgpu/driver/Module.h"
#include "tilewright/vgpu/driver/Work.h"

namespace tilewright::vgpu::driver {

/// Sizes, attributes and arguments of a launch, checked against the kernel and the chip.
/// `extra` or `values` gives the arguments, as documented for cuLaunchKernel.
CUresult makeLaunch(const CUlaunchConfig &config, const std::shared_ptr<Function> &function,
                    void **values, void **extra, KernelWork &work);
/// Checks `work` as makeLaunch() does: for nodes whose sizes are changed.
CUresult checkLaunch(const KernelWork &work);
/// Copies arguments.
CUresult takeArguments(const Function &function, void **values, void **extra,
                       std::vector<std::byte> &parameters);

/// How many blocks of `threads` threads run at once on one multiprocessor.
unsigned residentBlocks(const Function &function, unsigned threads, size_t dynamicShared);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_LAUNCH_H
