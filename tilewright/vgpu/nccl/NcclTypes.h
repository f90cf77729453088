// NCCL's types for the library of virtual GPUs, with CUDA's streams.
#ifndef TILEWRIGHT_VGPU_NCCL_NCCLTYPES_H
#define TILEWRIGHT_VGPU_NCCL_NCCLTYPES_H

#include "tilewright/collective/nccl/NcclTypes.h"
#include "tilewright/cuda-api/CudaTypes.h"

namespace tilewright::vgpu::nccl {

using namespace collective::nccl::abi;
using cuda_api::CUcontext;
using cuda_api::CUstream;
using cudaStream_t = CUstream;

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_NCCLTYPES_H
