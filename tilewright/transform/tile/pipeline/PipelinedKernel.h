// PipelinedKernel: a matmul as a kernel without warp specialization, in which all warps copy, and
// multiply from registers.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// Whether adjacent rows (columns) of the matrix are assigned in pairs to the same position in the
/// two halves of an instruction's 16 rows (to the columns of two instructions). Bytes that are
/// contiguous along M or N need this, because `ldmatrix` transposes 16-bit units. The assignment is
/// free as long as operand and accumulator agree.
struct Pairs {
  bool rows = false, columns = false;
};
Pairs pairsOf(const Product &product);

/// The layout of the `m`×`n` accumulator of `mma.sync` for a grid of warps, each of which has one
/// rectangle.
sm::Layout warpSumLayout(int64_t m, int64_t n, WarpGrid grid, Pairs pairs);

/// The layout of an operand's fragments for the depth of one instruction. Dimension 0 is M or N,
/// dimension 1 is K. Warps along the other dimension hold copies.
sm::Layout warpOperandLayout(int64_t own, int64_t bits, bool isLhs, WarpGrid grid, Pairs pairs);

/// The same for MFMA: an accumulator of 16x16 blocks, and 512 bits of an operand's depth, of which
/// a lane has 128.
sm::Layout mfmaSumLayout(int64_t m, int64_t n, WarpGrid grid);
sm::Layout mfmaOperandLayout(int64_t own, int64_t bits, bool isLhs, WarpGrid grid);

/// The layout of a group of ordered scales, of which the tile has the first `own` rows (columns),
/// in the registers of mma.sync, as a function of (line, byte) in memory: a word has the four
/// scales of a row, and the four lanes that share an instruction's row have 8 rows each of
/// every 32.
sm::Layout warpScaleLayout(int64_t own, bool isLhs, WarpGrid grid);

/// The layout of an operand in shared memory, where dimension 0 is M or N. It has lines of at most
/// 128 bytes along the contiguous dimension of memory, swizzled such that the eight rows of an
/// ldmatrix matrix, or the 32 words of a fragment that is read word by word, are in different
/// banks.
/// `isMfma`: such that the 32 lanes that read 8 bytes each of four rows of a group of eight, and
/// transpose them, are in different banks.
sm::Layout linesLayout(int64_t own, int64_t k, int64_t bits, bool kInner, bool isMfma = false);

/// The best plan for the product; nullopt if there is none, with the reason.
std::optional<GemmChoice> choosePipelined(const Product &product, const Gemm &gemm,
                                          const Machine &machine, std::string &reason);

/// Replaces the kernel. `choice` must come from choosePipelined().
sm::KernelOp makePipelinedKernel(const Product &product, const GemmChoice &choice);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PIPELINEDKERNEL_H
