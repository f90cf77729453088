// Warpgroup matrix instructions with both operands in shared memory.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H

#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <string>

namespace tilewright::nvptx {

/// Operands are given by descriptors; the accumulator is in registers. Also counts the products in
/// flight, of this class and of RegisterOperandLowering: each is a group of wgmma, and groups
/// complete in the order in which they are issued.
class WgmmaLowering : public OpGroup {
public:
  explicit WgmmaLowering(KernelLowering &all) : OpGroup(all) {}

  void mma(sm::MmaOp mma);
  /// Records that `groups` groups were issued, the last of which completes the result of `mma`.
  void recordIssue(sm::MmaOp mma, int64_t groups);
  /// Whether a wgmma in flight computes the tile.
  bool isInFlight(Value tile) const { return inFlight.contains(tile); }
  /// Marks a tile that a loop carries.
  void markInFlight(Value tile) { inFlight[tile] = unknown; }
  /// Waits for a tile that a wgmma in flight computes, before `user`.
  void settle(Value tile, mlir::Operation *user);
  /// Waits until at most `left` groups are in flight.
  void waitProducts(int64_t left);
  /// The instruction that waits for all products that read their left operand in registers; empty
  /// if these are known to be complete.
  std::string waitForRegisterOperands();
  /// Forgets which groups are complete and how many were issued after each. At the borders of loops
  /// and branches, the groups issued last may differ from those whose ops come last in the program.
  void forgetOrder();
  void beginRole();

private:
  static constexpr int64_t unknown = -1, none = std::numeric_limits<int64_t>::min();
  /// The number of each product in flight; `unknown` if all groups must complete.
  llvm::DenseMap<Value, int64_t> inFlight;
  /// The number of the last group that was issued, and of the last one that is known to be complete
  /// (`none` if none is).
  int64_t issued = 0, completed = none;
  /// The number of the last group that may read its left operand in registers.
  int64_t readsRegisters = none;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H
