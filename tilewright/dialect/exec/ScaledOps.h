// exec.scaled_dot: a matrix product of block-scaled operands.
#ifndef TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
#define TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H

#include "tilewright/dialect/exec/ExecDialect.h"

#include <optional>

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ScaledOps.h.inc"

namespace tilewright::exec {

/// The shape that the scales of an operand have if none of them is for a whole dimension.
llvm::SmallVector<int64_t> scaleShapeOf(llvm::ArrayRef<int64_t> operand, int64_t contracting,
                                        int64_t block);

/// How a tensor unit multiplies two types of elements with scales of one type.
struct ScaledKind {
  /// The bits of an element, equal for both operands.
  int64_t bits = 8;
  /// The elements of one instruction along K: 32 bytes.
  int64_t depth() const { return 256 / bits; }
  /// The groups of 4 scales of a row in a line of 128 bytes of elements.
  int64_t groups(int64_t block) const { return 1024 / bits / block / 4; }
};

/// The kind of a product of these types; nullopt if no tensor unit has it: e4m3 and e5m2 in any
/// pair, or e2m1 with itself, with a scale of e8m0 for 32 elements; e2m1 with itself also with a
/// scale of e4m3 for 16.
std::optional<ScaledKind> scaledKindOf(mlir::Type lhs, mlir::Type rhs, mlir::Type scale,
                                       int64_t block);

/// The shape of ordered scales: [batch, groups of 128 rows, lines of 128 bytes, 128].
llvm::SmallVector<int64_t> orderedShapeOf(int64_t batch, int64_t rows, int64_t depth,
                                          const ScaledKind &kind, int64_t block);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
