// The attribute of scalar ops whose accuracy the program asks for.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H
#define TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::elements {

/// Marks an op of arith or math that comes from an op with a `result_accuracy` other than DEFAULT.
/// A target does not approximate it.
inline constexpr llvm::StringLiteral accurateAttr = "tile.accurate";

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_ACCURACY_H
