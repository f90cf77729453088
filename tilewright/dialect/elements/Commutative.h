// Whether a reduction may combine its elements in any order.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_COMMUTATIVE_H
#define TILEWRIGHT_DIALECT_ELEMENTS_COMMUTATIVE_H

#include "mlir/IR/Region.h"

namespace tilewright::elements {

/// Whether the body of a reduction is known to be commutative: swapping the accumulators (the first
/// half of its arguments) and the elements (the second half) never changes a result, except for the
/// sign of a zero and the bits of a NaN. Two kinds of bodies are recognised: arithmetic that is
/// written symmetrically, such as `a + b` or `logaddexp(a, b)`, for each choice of flags among the
/// arguments; and selections by comparisons that break ties, such as that of an argmax.
///
/// StableHLO requires that the body is associative, but not that it is commutative.
bool isCommutative(mlir::Region &body);

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_COMMUTATIVE_H
