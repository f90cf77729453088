// elementBytes: the size of an element in memory.
#ifndef TILEWRIGHT_TRANSFORM_ELEMENTBYTES_H
#define TILEWRIGHT_TRANSFORM_ELEMENTBYTES_H

#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>

namespace tilewright {

/// At least one byte, also for elements of a few bits.
inline int64_t elementBytes(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    return 2 * elementBytes(complex.getElementType());
  if (type.isIndex())
    return 8;
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

} // namespace tilewright

#endif // TILEWRIGHT_TRANSFORM_ELEMENTBYTES_H
