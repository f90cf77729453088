// sort.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_SORT_H
#define TILEWRIGHT_INTERPRET_KERNELS_SORT_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Indexing.h"

#include <optional>

namespace tilewright::interpret {

/// Sorts the slices of all inputs along `dimension` together: `comparator` takes (lhs of input 0,
/// rhs of input 0, lhs of input 1, …) and returns whether lhs comes first. Always stable. An
/// inconsistent comparator gives an unspecified permutation. A negative dimension counts from the
/// last. With `count`, only the first `count` elements of each slice are sorted.
///  - interpretShape, operandType: inputs and comparator do not match.
Result<std::vector<Tensor>> sort(std::span<const Tensor> inputs, int64_t dimension,
                                 const ScalarFunction &comparator, Context &context,
                                 std::optional<int64_t> count = std::nullopt);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_SORT_H
