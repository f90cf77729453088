// Erases the ops that a rewrite has made dead.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_ERASEDEAD_H
#define TILEWRIGHT_TRANSFORM_FUSE_ERASEDEAD_H

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::fuse {

/// Erases the ops that computed `values`, and in turn their operands, if nothing reads them.
inline void eraseDead(llvm::SmallVector<mlir::Value> values) {
  while (!values.empty()) {
    mlir::Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !mlir::isOpTriviallyDead(op))
      continue;
    llvm::append_range(values, op->getOperands());
    // A value may be listed twice, because both operands of an op may be the same value.
    llvm::erase_if(values, [&](mlir::Value value) { return value.getDefiningOp() == op; });
    op->erase();
  }
}

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_ERASEDEAD_H
