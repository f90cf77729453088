// The type of a value that is a tensor.
#ifndef TILEWRIGHT_TRANSFORM_TYPEOF_H
#define TILEWRIGHT_TRANSFORM_TYPEOF_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace tilewright {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace tilewright

#endif // TILEWRIGHT_TRANSFORM_TYPEOF_H
