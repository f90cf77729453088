// The meaning of every operation on scalars, for every element type.
#ifndef TILEWRIGHT_INTERPRET_SCALAR_OPERATIONS_H
#define TILEWRIGHT_INTERPRET_SCALAR_OPERATIONS_H

#include "tilewright/interpret/Scalar.h"

#include <cstdint>
#include <string_view>

namespace tilewright::interpret {

/// An operation on scalars; the list is Operations.def. Beyond the dialect's own:
///
///   bitAnd, bitOr, bitXor, bitNot   `and`, `or`, `xor`, `not` (keywords of C++)
///   compareEq …                     `compare` of one direction, by value
///   totalOrderEq …                  the same by IEEE total order: -NaN < -inf < … < -0 < +0 < … <
///   NaN toBits, fromBits                an element as the unsigned integer of its bits, and back;
///                                   both in turn are `bitcast_convert` of equal widths
///   reducePrecision                 b.u is the number of exponent bits, c.u of mantissa bits
///   select                          a is the pred, b if true, c if false
///   clamp                           a is the minimum, b the operand, c the maximum
enum class ScalarOp : uint8_t {
#define TILEWRIGHT_SCALAR_OP(name, arity) name,
#include "tilewright/interpret/scalar/Operations.def"
};

unsigned arityOf(ScalarOp op);
std::string_view nameOf(ScalarOp op);

/// An operation for one type. Unused operands are ignored, so that every
/// operation is called in the same way. The result is a value of the result
/// type: reals are rounded, integers wrapped.
using Operation = Scalar (*)(const Scalar &a, const Scalar &b, const Scalar &c);

/// The operation for operands of `operand` with a result of `result`, or null
/// if the specification does not define it. For `select` the operand type is
/// that of b and c; for comparisons and isFinite the result is pred; for
/// `complex`, `real`, `imag` and `abs` the result follows from the operand.
/// `convert` is defined for all pairs of types.
Operation operationFor(ScalarOp op, ElementType operand, ElementType result);

/// The same where the result type follows from the operand's.
Operation operationFor(ScalarOp op, ElementType operand);

/// The result type of `op` on `operand`; `operand` itself for most. Not for convert or fromBits.
ElementType resultTypeOf(ScalarOp op, ElementType operand);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALAR_OPERATIONS_H
