// The functions of Functions.def as C++ functions; Exports.cpp gives them their C symbols.
#ifndef TILEWRIGHT_VGPU_NCCL_FUNCTIONS_H
#define TILEWRIGHT_VGPU_NCCL_FUNCTIONS_H

#include "tilewright/vgpu/nccl/NcclTypes.h"

namespace tilewright::vgpu::nccl::api {

#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments) ncclResult_t name parameters;
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION

} // namespace tilewright::vgpu::nccl::api

#endif // TILEWRIGHT_VGPU_NCCL_FUNCTIONS_H
