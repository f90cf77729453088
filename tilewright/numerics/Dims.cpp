#include "tilewright/numerics/Dims.h"

#include <algorithm>

namespace tilewright::numerics {

Dims pick(std::span<const int64_t> values, std::span<const int64_t> dims) {
  Dims picked;
  picked.reserve(dims.size());
  for (int64_t dim : dims)
    picked.push_back(values[static_cast<size_t>(dim)]);
  return picked;
}

Dims remaining(int64_t rank, std::span<const int64_t> dims) {
  Dims rest;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (std::find(dims.begin(), dims.end(), dim) == dims.end())
      rest.push_back(dim);
  return rest;
}

Dims joined(std::initializer_list<std::span<const int64_t>> lists) {
  Dims all;
  for (std::span<const int64_t> list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

} // namespace tilewright::numerics
