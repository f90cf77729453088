// exec.scaled_dot: a matrix product of block-scaled operands.
#ifndef TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
#define TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H

#include "tilewright/dialect/exec/ExecDialect.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ScaledOps.h.inc"

namespace tilewright::exec {

/// The shape that the scales of an operand have if none of them is for a whole dimension.
llvm::SmallVector<int64_t> scaleShapeOf(llvm::ArrayRef<int64_t> operand, int64_t contracting,
                                        int64_t block);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
