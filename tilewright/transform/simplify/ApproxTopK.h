// Lowers ApproxTopK, JAX's approximate top-k, to an exact sort.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::simplify {

/// Lowers each custom call ApproxTopK to a `sort` by its comparator and a `slice` of the first
/// entries. The requested recall is a lower bound, so an exact result is allowed. A call that does
/// not have the form that JAX generates is kept, and the target rejects it by name.
void makeTopKExact(mlir::ModuleOp module);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H
