// CudaBackend: the GPUs of a driver: NVIDIA's, AMD's, or virtual ones.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/CustomCall.h"
#include "tilewright/runtime/cuda/DriverApi.h"
#include "tilewright/runtime/cuda/symmetric/PricedEngine.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cuda {

/// The driver library to load, and its devices to use.
struct DriverOptions {
  /// The path of the library. If empty: TILEWRIGHT_CUDA_LIBRARY (for AMD: TILEWRIGHT_HIP_LIBRARY)
  /// if it is set, otherwise the virtual driver of this build or installation if `virtualChip` is
  /// set, otherwise the system's libcuda.so.1 (libamdhip64.so.7).
  std::string library;
  /// "sm_90a", "gfx950": use the virtual GPU with this chip; a comma-separated list gives devices
  /// different chips. The variables TILEWRIGHT_VGPU_… set everything else, as for `tilewright vgpu
  /// run`.
  std::string virtualChip;
  /// Ordinals of the driver's devices that the client uses; empty means all.
  std::vector<int> devices;
  Vendor vendor = Vendor::nvidia;
};

/// Parses the GPU names of TILEWRIGHT_TARGET and --target: "cuda", "rocm", "sm_90a" and "gfx950"
/// mean a physical GPU, "vgpu:sm_90a" and "vgpu:gfx950" the virtual one with that chip.
///  - optionValue (E0002): the name has neither form.
Result<DriverOptions> driverOptionsOf(std::string_view target);

/// The target to compile for if programs run on this client: `target`, or the client's chip if
/// `target` does not name one. The suffix of "sm_90a" enables the chip-specific instructions that
/// NVIDIA's chips from Hopper on have.
std::string targetFor(std::string_view target, const Client &client);

/// Parts of the runtime from which a GPU client is built.
struct CudaParts {
  /// Finds the handlers of custom calls when a program is loaded; without it, a program with custom
  /// calls cannot be loaded.
  std::shared_ptr<CustomCallResolver> customCalls = nullptr;
  /// Connects the engine that executes collectives; NCCL if this is null. For tests.
  std::function<Result<std::unique_ptr<collective::DeviceEngine>>(
      const collective::Membership &, tilewright::KeyValueStore &, collective::DeviceAccess &)>
      connect = nullptr;
  /// Compiles collective kernels, which let the GPUs of a host compute collectives themselves: all
  /// collectives if `runtime.nccl-library` is "none", those of `prefersOwn` if it is "priced". Not
  /// for GPUs of AMD.
  CollectiveCompiler compileCollective = nullptr;
  CollectiveChoice prefersOwn = nullptr;
};

/// Creates a client with these GPUs. Uses all of `options.runtime` except `devices`, `prefault` and
/// `tune`.
///  - cudaLibrary (E5120), cudaFunction (E5121): there is no usable driver.
///  - cudaDevices (E5123): a requested device does not exist, or there are no devices.
///  - cudaCall (E5122)
Result<std::unique_ptr<Client>>
createClient(const ClientOptions &options, const DriverOptions &driver = {}, CudaParts parts = {});

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDABACKEND_H
