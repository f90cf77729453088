// The arithmetic of NCCL's reductions.
#ifndef TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H
#define TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H

#include "tilewright/collective/Reduction.h"
#include "tilewright/vgpu/nccl/NcclTypes.h"

namespace tilewright::vgpu::nccl {

/// The loop that computes an operation. Averages and user-defined operators are computed as sums.
collective::Combine combineOf(ncclRedOp_t operation, ncclDataType_t type);
/// Writes 1/ranks as one element: an average of floats multiplies by it before the sum. Returns
/// false for integers, whose sum is divided instead.
bool reciprocal(int ranks, ncclDataType_t type, std::byte *element);
/// Divides integers; leaves floats alone.
void divide(std::byte *elements, size_t count, ncclDataType_t type, uint64_t by);

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H
