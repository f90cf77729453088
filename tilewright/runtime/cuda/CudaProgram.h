// CudaProgram: an executable loaded for GPUs.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H

#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/CustomCall.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/cuda/libraries/GpuLibraries.h"

#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// A device, as the client's object and as the driver's.
struct ProgramDevice {
  Device *device = nullptr;
  std::shared_ptr<CudaDevice> gpu;
  int64_t replica = 0, partition = 0; // position in the launch
};

/// Loads the code on each of `devices`, checks every kernel against the device's limits, and copies
/// the constants to the device. `gpuLibraries` may compute products in place of kernels; null for
/// none.
///  - cudaStep (E5124): the program has steps that a GPU cannot run yet.
///  - cudaChip (E5126): it was compiled for another chip.
///  - cudaCode (E5128), kernelMissing (E5031): the code does not match the plan.
///  - cudaLimit (E5125): a kernel needs more threads, shared memory or blocks in a cluster than the
///    device has.
///  - customCallUnknown (E5034): `customCalls` is null or does not know a custom call.
///  - outOfMemory (E5050), cudaCall (E5122), cudaLost (E5127)
Result<std::unique_ptr<DeviceProgram>>
loadProgram(std::shared_ptr<const artifact::Executable> executable,
            std::span<const ProgramDevice> devices, CustomCallResolver *customCalls,
            ThreadPool &pool, std::shared_ptr<libraries::GpuLibraries> gpuLibraries = nullptr);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H
