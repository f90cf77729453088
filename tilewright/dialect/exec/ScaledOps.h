// exec.scaled_dot: a matrix product of block-scaled operands.
#ifndef TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
#define TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H

#include "tilewright/dialect/exec/ExecDialect.h"

#include <optional>

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ScaledOps.h.inc"

namespace tilewright::exec {

/// The shape that an operand's scales have if no scale covers a whole dimension.
llvm::SmallVector<int64_t> scaleShapeOf(llvm::ArrayRef<int64_t> operand, int64_t contracting,
                                        int64_t block);

/// How a tensor unit multiplies two types of elements with scales of one type.
struct ScaledKind {
  /// The bits per element, the same for both operands.
  int64_t bits = 8;
  /// The number of elements that one instruction takes along K, which are 32 bytes.
  int64_t depth() const { return 256 / bits; }
  /// How many groups of 4 scales belong to 128 bytes of a row.
  int64_t groups(int64_t block) const { return 1024 / bits / block / 4; }
};

/// How tensor cores multiply these types; nullopt if none can. They can multiply e4m3 and e5m2 in
/// any combination, and e2m1 by itself, with one e8m0 scale per 32 elements; and e2m1 by itself
/// with one e4m3 scale per 16.
std::optional<ScaledKind> scaledKindOf(mlir::Type lhs, mlir::Type rhs, mlir::Type scale,
                                       int64_t block);

/// The shape of ordered scales: [batch, groups of 128 rows, lines of 128 bytes, 128].
llvm::SmallVector<int64_t> orderedShapeOf(int64_t batch, int64_t rows, int64_t depth,
                                          const ScaledKind &kind, int64_t block);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_SCALEDOPS_H
