// Calls of the CPU runtime's library, as ops.
#ifndef TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_H
#define TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_H

#include "tilewright/dialect/exec/ExecDialect.h"

namespace tilewright::exec {
class LibraryCallOpInterface;
namespace detail {
/// Checks that `bodies` contains as many functions as the other attributes require, and that
/// `aliases` are pairs of a result and an operand.
mlir::LogicalResult verifyLibraryCall(LibraryCallOpInterface call);
} // namespace detail
} // namespace tilewright::exec

#include "tilewright/dialect/exec/LibraryInterface.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/LibraryOps.h.inc"

namespace tilewright::exec {

/// The aliases of a launch, a custom call or a library call: pairs of a result and an operand that
/// may share memory. Empty for other ops.
llvm::ArrayRef<int64_t> aliasesOf(mlir::Operation *op);

/// Whether the values of each pair must share memory, because the op writes only a part of a
/// result.
bool mustAlias(mlir::Operation *op);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_LIBRARYOPS_H
