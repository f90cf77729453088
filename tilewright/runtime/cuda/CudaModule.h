// CudaModule: the code of an executable on one device.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDAMODULE_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDAMODULE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/hip/CodeMetadata.h"

#include <memory>
#include <vector>

namespace tilewright::runtime::cuda {

/// Loaded code and its functions; each can be launched with the executable's launch parameters.
class CudaModule {
public:
  /// Tries the binary assembled for the chip first, then PTX; on AMD there is only the code object.
  /// Fails with the errors of loadProgram().
  static Result<std::unique_ptr<CudaModule>> load(const artifact::Executable &executable,
                                                  CudaDevice &device);
  ~CudaModule();

  CUfunction function(artifact::Index kernel) const { return functions[kernel]; }

private:
  explicit CudaModule(CudaDevice &device) : device(device) {}
  Status loadImage(const artifact::Executable &executable);
  Status loadCodeObject(const artifact::Executable &executable);
  Status findFunction(const artifact::Kernel &kernel);
  Status checkParameters(const artifact::Executable &executable);
  std::vector<size_t> parameterSizes(const artifact::Kernel &kernel, CUfunction function) const;

  CudaDevice &device;
  CUmodule module = nullptr;
  std::vector<CUfunction> functions; // by kernel
  hip::KernelParameters declared;    // by the code object of a GPU of AMD
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDAMODULE_H
