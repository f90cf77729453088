// Comparisons of actual and expected results.
#ifndef TILEWRIGHT_INTERPRET_CHECKS_H
#define TILEWRIGHT_INTERPRET_CHECKS_H

#include "tilewright/interpret/Tensor.h"

namespace tilewright::interpret {

/// Each function compares element by element and fails with Error::interpretCheck. The message
/// contains the index and both values of the first difference, and the number of differences.

/// Equal as values: -0 equals +0, and NaN equals NaN, whatever its bits.
Status expectEqual(const Tensor &actual, const Tensor &expected);

/// Elements may differ by at most `ulps` values of the type. Both zeros count as the same value,
/// NaN equals NaN, and infinities equal only themselves. Complex numbers are compared by component.
Status expectClose(const Tensor &actual, const Tensor &expected, uint64_t ulps);

/// Elements may differ by at most `tolerance`. NaN equals NaN, and infinities equal only
/// themselves.
Status expectAlmostEqual(const Tensor &actual, const Tensor &expected, double tolerance);

/// The distance of two values of a real type in ulps: the number of steps between adjacent values
/// of the type that lead from one to the other.
uint64_t ulpsApart(ElementType type, double a, double b);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_CHECKS_H
