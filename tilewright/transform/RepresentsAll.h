// Whether a conversion between floats keeps every value.
#ifndef TILEWRIGHT_TRANSFORM_REPRESENTSALL_H
#define TILEWRIGHT_TRANSFORM_REPRESENTSALL_H

#include "mlir/IR/BuiltinTypes.h"

namespace tilewright {

/// Whether `wide` represents every number of `narrow`, infinities and NaN included.
inline bool representsAll(mlir::FloatType wide, mlir::FloatType narrow) {
  using llvm::APFloat;
  const llvm::fltSemantics &large = wide.getFloatSemantics(), &small = narrow.getFloatSemantics();
  auto lowestBit = [](const llvm::fltSemantics &type) {
    return APFloat::semanticsMinExponent(type) - int(APFloat::semanticsPrecision(type)) + 1;
  };
  return APFloat::semanticsPrecision(small) <= APFloat::semanticsPrecision(large) &&
         APFloat::semanticsMaxExponent(small) <= APFloat::semanticsMaxExponent(large) &&
         lowestBit(small) >= lowestBit(large) &&
         (APFloat::semanticsHasInf(large) || !APFloat::semanticsHasInf(small)) &&
         (APFloat::semanticsHasNaN(large) || !APFloat::semanticsHasNaN(small));
}

} // namespace tilewright

#endif // TILEWRIGHT_TRANSFORM_REPRESENTSALL_H
