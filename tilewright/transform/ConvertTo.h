// Emits a conversion of a tensor's elements.
#ifndef TILEWRIGHT_TRANSFORM_CONVERTTO_H
#define TILEWRIGHT_TRANSFORM_CONVERTTO_H

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/TypeOf.h"

namespace tilewright {

/// The value with elements of this type; the value itself if it has them.
inline mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                             mlir::Type element) {
  mlir::RankedTensorType type = typeOf(value);
  if (type.getElementType() == element)
    return value;
  return stablehlo::ConvertOp::create(builder, loc, type.clone(element), value);
}

} // namespace tilewright

#endif // TILEWRIGHT_TRANSFORM_CONVERTTO_H
