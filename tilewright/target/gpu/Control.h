// Loops and branches.
#ifndef TILEWRIGHT_TARGET_GPU_CONTROL_H
#define TILEWRIGHT_TARGET_GPU_CONTROL_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/target/gpu/OpGroup.h"

namespace tilewright::gpu {

/// Carries scalars, tiles and buffers through blocks as block arguments.
class ControlLowering : public OpGroup {
public:
  explicit ControlLowering(KernelLowering &all) : OpGroup(all) {}

  void loop(mlir::scf::ForOp loop);
  void branch(mlir::scf::IfOp branch);

private:
  struct CarriedValues;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_CONTROL_H
