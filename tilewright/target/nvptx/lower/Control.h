// Loops and branches.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CONTROL_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CONTROL_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// Carries scalars, tiles and buffers through blocks as block arguments.
class ControlLowering : public OpGroup {
public:
  explicit ControlLowering(KernelLowering &all) : OpGroup(all) {}

  void loop(mlir::scf::ForOp loop);
  void branch(mlir::scf::IfOp branch);

private:
  struct CarriedValues;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CONTROL_H
