// Which library is the driver. For CudaBackend only.
#ifndef TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H
#define TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H

#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

namespace tilewright::runtime::cuda {

/// Loads the driver that `options` mean and, for the virtual one, tells it its chip first.
Result<std::shared_ptr<const DriverApi>> findDriver(const DriverOptions &options);
/// The virtual driver has the chip that it got when it was started, which may have been earlier.
///  - cudaDevices (E5123): it is another one.
Status checkVirtualChip(const DriverOptions &options,
                        std::span<const std::shared_ptr<CudaDevice>> devices);

/// A chip's name: its number, and `a` (only this chip), `f` (its family) or 0.
struct ChipName {
  int capability = 0;
  char suffix = 0;
};
/// Nothing if it is no "sm_90a".
std::optional<ChipName> parseChip(std::string_view name);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H
