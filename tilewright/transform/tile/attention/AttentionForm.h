// AttentionForm: the forms that a kernel of attention may have.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONFORM_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONFORM_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/transform/tile/Tiling.h"

namespace tilewright::tile {

/// The form of a kernel. With warpgroups, each has 64 queries, or 128 if sums are in tensor memory,
/// and `tile-pipeline` makes roles of the kernel: its operands stay in shared memory. Otherwise
/// warps have 16 queries each, in registers. Waves of 64 lanes have 32, so that they use keys and
/// values that they read from shared memory twice.
struct AttentionForm {
  int64_t warpgroups = 0;
  int64_t rows = 0; // of a warpgroup
  bool isInTensorMemory = false;
  /// Every how many weights of a thread are computed without the special-function unit; 0 if none.
  int64_t polynomial = 0;
  int64_t keys = 0;       // of a block
  int64_t rowsOfWarp = 0; // without warpgroups
  int64_t maxWarps = 4;
  /// How many adjacent weights of a row a lane has, of which four lanes have the row, if each lane
  /// adds its own weights, and lanes add their sums after the last block; 0 if they do so for each
  /// block.
  int64_t adjacent = 0;
  /// Whether keys and values of a block are loaded to registers while the block before is computed.
  bool loadsAhead = false;
  /// Whether sums are rescaled only if a weight would be too large.
  bool keepsMaximum = false;
};

/// The forms with warpgroups that products of these types may have.
llvm::SmallVector<AttentionForm> formsOfWarpgroups(exec::SoftmaxDotOp op,
                                                   const Capacities &capacities);

/// The form without warpgroups.
AttentionForm formOfWarps(exec::SoftmaxDotOp op, const Capacities &capacities);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONFORM_H
