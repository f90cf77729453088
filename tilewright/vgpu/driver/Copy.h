// Turns the arguments of a copy or a fill into work.
#ifndef TILEWRIGHT_VGPU_DRIVER_COPY_H
#define TILEWRIGHT_VGPU_DRIVER_COPY_H

#include "tilewright/vgpu/driver/Work.h"

namespace tilewright::vgpu::driver {

CUresult makeCopy(const CUDA_MEMCPY3D &asked, CopyWork &work);
CUresult makeFill(const CUDA_MEMSET_NODE_PARAMS &asked, FillWork &work);
/// If the source is pageable host memory, reads it now: the program may change or free it as soon
/// as the call returns.
void stagePageable(CopyWork &work);
/// Checks that all memory that the work accesses is allocated.
///  - CUDA_ERROR_INVALID_VALUE: a part of it is not in a live allocation.
CUresult checkCopy(const CopyWork &work);
CUresult checkFill(const FillWork &work);
/// Like the function above, for memory that a device accesses in another way.
CUresult checkRange(uint64_t begin, uint64_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_COPY_H
