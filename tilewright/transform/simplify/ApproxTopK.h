// ApproxTopK, JAX's call for about the largest entries, as the exact sort that it allows.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::simplify {

/// Writes each custom call ApproxTopK as `sort` by its comparator and `slice` of the first entries.
/// The recall that it asks for is a lower bound, so the exact answer is one of those it allows. A
/// call that is not as JAX writes it stays, for the target to refuse by name.
void makeTopKExact(mlir::ModuleOp module);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_APPROXTOPK_H
