// The arithmetic of NCCL's reductions.
#ifndef TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H
#define TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H

#include "tilewright/collective/Reduction.h"
#include "tilewright/vgpu/nccl/NcclTypes.h"

namespace tilewright::vgpu::nccl {

/// The loop of an operation; averages and operators of programs add.
collective::Combine combineOf(ncclRedOp_t operation, ncclDataType_t type);
/// Writes 1/ranks as one element: floats are averaged by multiplication before the sum. Returns
/// false for integers, which are divided after it.
bool reciprocal(int ranks, ncclDataType_t type, std::byte *element);
/// Divides integers; leaves floats alone.
void divide(std::byte *elements, size_t count, ncclDataType_t type, uint64_t by);

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_ARITHMETIC_H
