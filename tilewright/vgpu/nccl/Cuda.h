// The driver API, as the virtual libcuda.so.1 exports it; this library is linked with that one.
#ifndef TILEWRIGHT_VGPU_NCCL_CUDA_H
#define TILEWRIGHT_VGPU_NCCL_CUDA_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/cuda-api/GraphTypes.h"
#include "tilewright/vgpu/driver/HostTools.h"

namespace tilewright::vgpu::nccl {

using namespace cuda_api;

extern "C" {
#define TILEWRIGHT_CUDA_FUNCTION(name, suffix, since, stream, parameters, arguments)               \
  CUresult name##suffix parameters;
#include "tilewright/cuda-api/Functions.def"
#undef TILEWRIGHT_CUDA_FUNCTION
}

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_CUDA_H
