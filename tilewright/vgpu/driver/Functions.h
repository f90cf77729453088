// The functions of Functions.def, as C++ functions in their own namespace. A name that has several
// versions with different parameters is overloaded; Exports.cpp gives each version its C symbol.
#ifndef TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H
#define TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"

#include <span>
#include <string_view>

namespace tilewright::vgpu::driver {

using namespace cuda_api;

namespace api {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  CUresult name parameters;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
} // namespace api

/// One exported function.
struct Export {
  std::string_view name;   // as passed to cuGetProcAddress
  std::string_view symbol; // with the suffix of its version
  int since;               // the first CUDA version that has it, 12030 for 12.3
  void *address;
  void *perThreadAddress; // variant where 0 is the per-thread stream; null if none
};
/// All exported functions, in the order of Functions.def.
std::span<const Export> exports();

/// Whether stream 0 means the per-thread default stream in the current call of this thread.
bool isDefaultStreamPerThread();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H
