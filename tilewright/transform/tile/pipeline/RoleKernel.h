// RoleKernel: a product as a kernel with roles.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// The accumulator of wgmma.m64nN: rows to CTAs of the cluster, groups, blocks of 64, warps and
/// lanes; `m` and `n` are those of the whole cluster.
/// `pairsRows`: two rows of a thread are neighbours (see Prologue.h).
sm::Layout accumulatorLayout(int64_t m, int64_t n, int64_t clusterM, int64_t clusterN,
                             int64_t groups, bool pairsRows = false);

/// An operand in shared memory with lines of 128 bytes (64 where it has no more), swizzled: `rows`
/// of the matrix's own side (M or N) by `k`. Dimension 0 of the result is that side. `clusterOwn`
/// CTAs divide that side, `clusterOther` have copies of it.
sm::Layout operandLayout(int64_t rows, int64_t k, int64_t bits, bool kInner, int64_t clusterOwn,
                         int64_t clusterOther);

/// Why what stands behind the product cannot be done with the accumulator's layout, or nothing.
std::optional<std::string> whyNoEpilogue(const Product &product, const GemmChoice &choice);

/// Replaces the kernel: one role copies, the other multiplies and does what stands behind the
/// product. Only after `whyNoEpilogue` had nothing to say.
sm::KernelOp makeRoleKernel(const Product &product, const GemmChoice &choice);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_ROLEKERNEL_H
