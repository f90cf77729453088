#include "tilewright/runtime/cpu/matmul/Placement.h"

#include <utility>

namespace tilewright::runtime::cpu {

std::vector<StridedDimension> joinDimensions(std::span<const StridedDimension> dimensions) {
  std::vector<StridedDimension> joined;
  for (const StridedDimension &dimension : dimensions) {
    if (dimension.size == 1)
      continue;
    if (!joined.empty() && joined.back().stride == dimension.stride * dimension.size)
      joined.back() = {joined.back().size * dimension.size, dimension.stride};
    else
      joined.push_back(dimension);
  }
  return joined;
}

Placement placementOf(std::span<const StridedDimension> dimensions) {
  const std::vector<StridedDimension> joined = joinDimensions(dimensions);
  Placement placement;
  if (joined.size() <= 1) {
    placement.stride = joined.empty() ? 1 : joined[0].stride;
    return placement;
  }
  placement.offsets = {0};
  for (const StridedDimension &dimension : joined) {
    std::vector<int64_t> longer;
    longer.reserve(placement.offsets.size() * static_cast<size_t>(dimension.size));
    for (int64_t outer : placement.offsets)
      for (int64_t i = 0; i < dimension.size; ++i)
        longer.push_back(outer + i * dimension.stride);
    placement.offsets = std::move(longer);
  }
  return placement;
}

} // namespace tilewright::runtime::cpu
