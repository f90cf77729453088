// RoleKernel: a matmul as a warp-specialized kernel.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// The layout of the accumulator of wgmma.m64nN. Rows are distributed over the CTAs of the cluster,
/// warpgroups, blocks of 64, warps and lanes. `m` and `n` are the sizes for the whole cluster. With
/// `pairsRows`, the two rows of a thread are adjacent (see Prologue.h).
sm::Layout accumulatorLayout(int64_t m, int64_t n, int64_t clusterM, int64_t clusterN,
                             int64_t groups, bool pairsRows = false);

/// The layout of an operand in swizzled shared memory with lines of 128 bytes (64 if the operand is
/// smaller): `rows` along M or N by `k`. Dimension 0 is M or N. `clusterOwn` CTAs divide it, and
/// `clusterOther` CTAs hold copies of it.
sm::Layout operandLayout(int64_t rows, int64_t k, int64_t bits, bool kInner, int64_t clusterOwn,
                         int64_t clusterOther);

/// The layout of a result tile in swizzled shared memory with lines of 128 bytes. `m` and `n` are
/// the sizes for the whole cluster.
sm::Layout stagedLayout(int64_t m, int64_t n, int64_t bits, int64_t clusterM, int64_t clusterN);

/// Explains why the epilogue cannot be computed in the accumulator's layout; nullopt if it can.
std::optional<std::string> whyNoEpilogue(const Product &product, const GemmChoice &choice);

/// Replaces the kernel: producer warps copy, consumer warps multiply and compute the epilogue.
/// whyNoEpilogue() must have returned nullopt.
sm::KernelOp makeRoleKernel(const Product &product, const GemmChoice &choice);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H
