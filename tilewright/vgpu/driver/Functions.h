// The functions of Functions.def, as C++ functions of their own namespace. A name that
// has several versions with different parameters is overloaded; Exports.cpp gives each
// version its C symbol.
#ifndef TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H
#define TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H

#include "tilewright/vgpu/driver/CudaTypes.h"
#include "tilewright/vgpu/driver/GraphTypes.h"

#include <span>
#include <string_view>

namespace tilewright::vgpu::driver {

namespace api {
#define VGPU_FUNCTION(name, suffix, since, stream, parameters, arguments) CUresult name parameters;
#include "tilewright/vgpu/driver/Functions.def"
#undef VGPU_FUNCTION
} // namespace api

/// One exported function.
struct Export {
  std::string_view name;   // as cuGetProcAddress takes it
  std::string_view symbol; // with the suffix of its version
  int since;               // the CUDA version that has it, 12030 for 12.3
  void *address;
  void *perThreadAddress; // where 0 is the stream of the calling thread; null if it is the same
};
/// In the order of the table.
std::span<const Export> exports();

/// What a stream of 0 means in the call that this thread is in.
bool isDefaultStreamPerThread();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_FUNCTIONS_H
