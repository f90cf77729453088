// Maps ops of the dialect to elementwise operations on scalars.
#ifndef TILEWRIGHT_INTERPRET_EVALUATE_SCALAROPS_H
#define TILEWRIGHT_INTERPRET_EVALUATE_SCALAROPS_H

#include "tilewright/interpret/ScalarOperations.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <span>

namespace tilewright::interpret {

struct NamedScalarOp {
  llvm::StringRef name;
  ScalarOp op;
};

/// The ops that correspond to one ScalarOp whatever their attributes are.
std::span<const NamedScalarOp> namedScalarOps();

/// The ScalarOp of an op, including `compare`; nullopt if it has none.
std::optional<ScalarOp> scalarOpOf(mlir::Operation *op);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATE_SCALAROPS_H
