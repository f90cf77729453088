// Which ops of the dialect are operations on scalars, element by element.
#ifndef TILEWRIGHT_INTERPRET_SCALAROPS_H
#define TILEWRIGHT_INTERPRET_SCALAROPS_H

#include "tilewright/interpret/scalar/Operations.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <span>

namespace tilewright::interpret {

struct NamedScalarOp {
  llvm::StringRef name;
  ScalarOp op;
};

/// The ops that are one operation each and need no attribute to say which.
std::span<const NamedScalarOp> namedScalarOps();

/// The operation of an op, `compare` included; nothing if it is not one.
std::optional<ScalarOp> scalarOpOf(mlir::Operation *op);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALAROPS_H
