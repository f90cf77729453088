// From the arguments of a copy or a fill to work.
#ifndef TILEWRIGHT_VGPU_DRIVER_COPY_H
#define TILEWRIGHT_VGPU_DRIVER_COPY_H

#include "tilewright/vgpu/driver/Work.h"

namespace tilewright::vgpu::driver {

CUresult makeCopy(const CUDA_MEMCPY3D &asked, CopyWork &work);
CUresult makeFill(const CUDA_MEMSET_NODE_PARAMS &asked, FillWork &work);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_COPY_H
