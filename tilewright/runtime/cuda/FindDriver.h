// Chooses the driver library. Only for CudaBackend.
#ifndef TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H
#define TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H

#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

namespace tilewright::runtime::cuda {

/// Loads the driver that `options` select; for the virtual driver, sets its chip first.
Result<std::shared_ptr<const DriverApi>> findDriver(const DriverOptions &options);
/// Checks that the virtual driver has the requested chip, which is fixed when the driver is first
/// initialised in this process.
///  - cudaDevices (E5123): the driver has a different chip.
Status checkVirtualChip(const DriverOptions &options,
                        std::span<const std::shared_ptr<CudaDevice>> devices);

/// The NCCL library, or AMD's RCCL: the one that the option names, otherwise the one beside the
/// virtual driver, otherwise the system's.
std::string findNccl(const std::string &option, const DriverApi &api);

/// A chip's name: its compute capability, and the suffix `a` (only this chip), `f` (its family) or
/// 0 (none).
struct ChipName {
  int capability = 0;
  char suffix = 0;
};
/// nullopt if `name` does not have the form "sm_90a".
std::optional<ChipName> parseChip(std::string_view name);
/// Whether `name` has the form of AMD's chips, such as "gfx950".
bool isAmdChip(std::string_view name);

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_FINDDRIVER_H
