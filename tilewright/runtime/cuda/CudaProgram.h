// CudaProgram: an executable made ready for GPUs.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H

#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// A device as the client and as the driver know it.
struct ProgramDevice {
  Device *device = nullptr;
  std::shared_ptr<CudaDevice> gpu;
};

/// Loads the code on each of `devices`, holds every kernel against the device's limits, and copies
/// the constants there.
///  - cudaStep (E5124): it has steps that a GPU cannot run yet.
///  - cudaChip (E5126): it was compiled for another chip.
///  - cudaCode (E5128), kernelMissing (E5031): the code is not what the plan says.
///  - cudaLimit (E5125): a kernel needs more threads, shared memory or blocks in a cluster.
///  - outOfMemory (E5050), cudaCall (E5122), cudaLost (E5127)
Result<std::unique_ptr<DeviceProgram>>
loadProgram(std::shared_ptr<const artifact::Executable> executable,
            std::span<const ProgramDevice> devices, ThreadPool &pool);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDAPROGRAM_H
