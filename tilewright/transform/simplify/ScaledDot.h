// Expands the custom call by which JAX requests block-scaled products on CUDA.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_SCALEDDOT_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_SCALEDDOT_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::simplify {

/// Replaces each call `__op$block_scaled_dot(lhs, rhs, lhs_scale[, rhs_scale[, global_scale]])` by
/// the expression that it stands for:
///
///   result[b, m, n] = global_scale * sum over k of
///       lhs[b, m, k] * lhs_scale[b, m, k / block] * rhs[b, n, k] * rhs_scale[b, n, k / block]
///
/// An element times its scale is a bf16. This is exact for elements and scales of at most 8 bits,
/// as long as the product is in bf16's range. Operands with a longer mantissa are multiplied in
/// f32. Sums and the global scale are f32, and the result is rounded once. Scales may be padded:
/// rows and blocks beyond those of the operand are not read. `block` is the `block_size` of the
/// call's configuration or, without it, the quotient of the operand's and the scale's last
/// dimensions.
///
/// Fails, with an error at the call, if the operands or the configuration do not have this form.
mlir::LogicalResult expandScaledDots(mlir::ModuleOp module);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_SCALEDDOT_H
