// KernelCost: how long a kernel without matrix instructions takes, in cycles, from the bytes that
// it moves and the instructions that it issues. Decisions to compute a value again instead of
// storing it compare these costs.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_COST_KERNELCOST_H
#define TILEWRIGHT_TRANSFORM_FUSE_COST_KERNELCOST_H

#include "tilewright/dialect/exec/ExecDialect.h"

namespace tilewright::fuse {

/// The work of a kernel.
struct KernelWork {
  /// Bytes between memory and the multiprocessors, and between L2 and the multiprocessors.
  double memoryBytes = 0, l2Bytes = 0;
  /// Instructions of one lane: of a warp of 32, 32.
  double instructions = 0;
};

/// The rates of a machine, of all its units.
class KernelCost {
public:
  explicit KernelCost(exec::TargetAttr target);

  /// Cycles of a kernel, without its launch: loads, stores and instructions overlap.
  double cyclesOf(const KernelWork &work) const;
  /// Adds a value that is read or written; or removes it, if `times` is -1. L2 holds what one
  /// kernel stores for the next if it fits into half of it.
  void addValue(KernelWork &work, mlir::Type type, double times = 1) const;
  /// Cycles to move so many bytes, which L2 holds or not.
  double cyclesToMove(double bytes) const;

private:
  double memoryRate, l2Rate, l2Size, issueRate;
};

/// Cycles from the end of a kernel to the first load of the next one that waits for it. Estimated:
/// about 1.7 µs at the clocks of the rates.
inline constexpr double launchCycles = 3000;

/// The maximum number of elementwise ops of a prologue. For each step of the depth, a tile of 128 x
/// 128 needs 16 cycles of the tensor cores (1024 products per cycle), and each op on its 256
/// operand elements takes 2 cycles of 128 lanes. More ops would take longer than the product.
inline constexpr int64_t maxPrologueOps = 8;

/// The bytes of a tensor in memory.
double bytesOf(mlir::Type type);

/// The instructions of a lane for one element of an op that a kernel computes.
double instructionsOf(mlir::Operation *op);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_COST_KERNELCOST_H
