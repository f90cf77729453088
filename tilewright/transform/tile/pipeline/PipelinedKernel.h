// PipelinedKernel: a product as a kernel without roles: all warps copy, and multiply from
// registers.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// The sum of `mma.sync` in a grid of warps, `m`×`n` in all: each warp has one rectangle.
sm::Layout warpSumLayout(int64_t m, int64_t n, WarpGrid grid);

/// The fragments of an operand for one instruction's depth; dimension 0 is its own side (M or N),
/// dimension 1 is K. Warps along the other side have copies.
sm::Layout warpOperandLayout(int64_t own, int64_t bits, bool isLhs, WarpGrid grid);

/// An operand in shared memory, dimension 0 its own side (M or N): lines of at most 128 bytes along
/// what is contiguous in memory, swizzled so that the eight rows of a matrix, or the 32 words of a
/// fragment that is read word by word, lie in different banks.
sm::Layout linesLayout(int64_t own, int64_t k, int64_t bits, bool kInner);

/// The best plan for the product, or nothing and why there is none.
std::optional<GemmChoice> choosePipelined(const Product &product, const Gemm &gemm,
                                          const Machine &machine, std::string &reason);

/// Replaces the kernel. Only with a choice of `choosePipelined`.
sm::KernelOp makePipelinedKernel(const Product &product, const GemmChoice &choice);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H
