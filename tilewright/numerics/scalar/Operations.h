// The semantics of every operation on scalars, for every element type.
#ifndef TILEWRIGHT_NUMERICS_SCALAR_OPERATIONS_H
#define TILEWRIGHT_NUMERICS_SCALAR_OPERATIONS_H

#include "tilewright/numerics/scalar/Scalar.h"

#include <cstdint>
#include <string_view>

namespace tilewright::numerics {

/// An operation on scalars; Operations.def lists them. Operations that are not ops of the dialect,
/// or have another name:
///
///   bitAnd, bitOr, bitXor, bitNot   `and`, `or`, `xor`, `not` (keywords of C++)
///   compareEq …                     `compare` of one direction, by value
///   totalOrderEq …                  the same by IEEE total order:
///                                   -NaN < -inf < … < -0 < +0 < … < NaN
///   toBits, fromBits                an element as the unsigned integer of its bits, and back;
///                                   in sequence they are `bitcast_convert` of equal widths
///   reducePrecision                 b.u is the number of exponent bits, c.u of mantissa bits
///   select                          a is the pred, b if true, c if false
///   clamp                           a is the minimum, b the operand, c the maximum
enum class ScalarOp : uint8_t {
#define TILEWRIGHT_SCALAR_OP(name, arity) name,
#include "tilewright/numerics/scalar/Operations.def"
};

unsigned arityOf(ScalarOp op);
std::string_view nameOf(ScalarOp op);

/// An operation for one type. Unused operands are ignored, so that every operation has the same
/// signature. The result is a value of the result type: reals are rounded, integers wrapped.
using Operation = Scalar (*)(const Scalar &a, const Scalar &b, const Scalar &c);

/// The operation for operands of type `operand` with a result of type `result`, or null if the
/// specification does not define it. For `select`, `operand` is the type of b and c; for
/// comparisons and isFinite, `result` is pred; for `complex`, `real`, `imag` and `abs`, the operand
/// type determines `result`. `convert` is defined for all pairs of types.
Operation operationFor(ScalarOp op, ElementType operand, ElementType result);

/// Like operationFor() above, for operations whose operand type determines the result type.
Operation operationFor(ScalarOp op, ElementType operand);

/// The result type of `op` on `operand`; for most operations, `operand` itself. Must not be called
/// for convert and fromBits.
ElementType resultTypeOf(ScalarOp op, ElementType operand);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_SCALAR_OPERATIONS_H
