// How a program compares what it computed with what it expected.
#ifndef TILEWRIGHT_INTERPRET_CHECKS_H
#define TILEWRIGHT_INTERPRET_CHECKS_H

#include "tilewright/interpret/Tensor.h"

namespace tilewright::interpret {

/// Each compares element by element and fails with Error::interpretCheck at the
/// first difference, with its index, both values and how many more there are.

/// Equal as values: -0 equals +0, and NaN equals NaN, whatever its bits.
Status expectEqual(const Tensor &actual, const Tensor &expected);

/// At most `ulps` values of the type apart; zeros count as one value, NaN
/// equals NaN, infinities only themselves. Complex numbers component by component.
Status expectClose(const Tensor &actual, const Tensor &expected, uint64_t ulps);

/// At most `tolerance` apart; NaN equals NaN, infinities only themselves.
Status expectAlmostEqual(const Tensor &actual, const Tensor &expected, double tolerance);

/// The number of values of a real type between two of it.
uint64_t ulpsApart(ElementType type, double a, double b);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_CHECKS_H
