// The attributes of scalar ops about their accuracy.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H
#define TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::elements {

/// Marks an op of arith or math that comes from an op with a `result_accuracy` other than DEFAULT.
/// A target does not approximate it.
inline constexpr llvm::StringLiteral accurateAttr = "tile.accurate";

/// A number n on a math.exp2 of f32 that may be approximated: a thread computes it with
/// multiply-adds for every n-th of its registers, because its special-function unit has more to do
/// than its other units.
inline constexpr llvm::StringLiteral polynomialAttr = "tile.polynomial";

/// Of a tile.map that multiplies its first input by its second one, of which most are 1: a warp may
/// skip the products if all of its factors are 1.
inline constexpr llvm::StringLiteral rarelyScalesAttr = "tile.rarely_scales";

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H
