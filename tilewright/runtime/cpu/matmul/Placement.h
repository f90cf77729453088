// Placement: the positions of the elements along one side of a matrix.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime::cpu {

/// The positions of the elements along one side of a matrix, in elements: a stride, or an offset
/// for each element if several dimensions of a tensor form the side.
struct Placement {
  int64_t stride = 1;
  std::vector<int64_t> offsets; // if not empty, one for each index; `stride` is then ignored

  bool isEven() const { return offsets.empty(); }
  int64_t at(int64_t index) const {
    return isEven() ? index * stride : offsets[static_cast<size_t>(index)];
  }
};

/// A dimension of a tensor, as part of a side of a matrix.
struct StridedDimension {
  int64_t size, stride;
};

/// Joins dimensions that are contiguous, outermost first. Removes those of size 1.
std::vector<StridedDimension> joinDimensions(std::span<const StridedDimension> dimensions);

/// The side that consists of these dimensions, outermost first.
Placement placementOf(std::span<const StridedDimension> dimensions);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H
