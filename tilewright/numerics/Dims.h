// Lists of dimensions: numbers of dimensions, or one number for each dimension.
#ifndef TILEWRIGHT_NUMERICS_DIMS_H
#define TILEWRIGHT_NUMERICS_DIMS_H

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace tilewright::numerics {

using Dims = std::vector<int64_t>;

/// values[dims[0]], values[dims[1]], …
Dims pick(std::span<const int64_t> values, std::span<const int64_t> dims);
/// The numbers below `rank` that are not in `dims`, in ascending order.
Dims remaining(int64_t rank, std::span<const int64_t> dims);
/// Concatenates lists.
Dims joined(std::initializer_list<std::span<const int64_t>> lists);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_DIMS_H
