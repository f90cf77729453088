// CudaBackend: the devices of a client are the GPUs of a CUDA driver, a real one or ours.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H

#include "tilewright/runtime/Client.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cuda {

/// Which driver, and what of it.
struct DriverOptions {
  /// Path of the library. Empty: TILEWRIGHT_CUDA_LIBRARY, else the virtual driver beside this
  /// program if `virtualChip` is set, else the system's libcuda.so.1.
  std::string library;
  /// "sm_90a": use the virtual GPU, with this chip (a list with commas gives devices different
  /// ones). Its other settings are TILEWRIGHT_VGPU_…, as for `tilewright vgpu run`.
  std::string virtualChip;
  /// Numbers of the driver's devices that the client has; empty is all.
  std::vector<int> devices;
};

/// What TILEWRIGHT_TARGET and --target call a GPU: "cuda" and "sm_90a" are the machine's,
/// "vgpu:sm_90a" the virtual one with that chip.
///  - optionValue (E0002): it is neither.
Result<DriverOptions> driverOptionsOf(std::string_view target);

/// The target to compile for where programs run on the client: its chip, if `target` names none.
/// Chips from Hopper on have instructions of their own, which the letter of "sm_90a" stands for.
std::string targetFor(std::string_view target, const Client &client);

/// A client with these GPUs. Of `options.runtime` all but `devices`, `prefault` and `tune` count.
///  - cudaLibrary (E5120), cudaFunction (E5121): there is no driver that can be used.
///  - cudaDevices (E5123): a device that is asked for does not exist, or none does.
///  - cudaCall (E5122)
Result<std::unique_ptr<Client>> createClient(const ClientOptions &options,
                                             const DriverOptions &driver = {});

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H
