// Placement: where the elements along one side of a matrix lie.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime::cpu {

/// Where the elements along one side of a matrix lie: evenly spaced, or each at an offset of its
/// own where several dimensions of a tensor make up the side. In elements.
struct Placement {
  int64_t stride = 1;
  std::vector<int64_t> offsets; // if not empty, one for each index; `stride` is then ignored

  bool isEven() const { return offsets.empty(); }
  int64_t at(int64_t index) const {
    return isEven() ? index * stride : offsets[static_cast<size_t>(index)];
  }
};

/// A dimension of a tensor, as part of a side of a matrix.
struct Part {
  int64_t size, stride;
};

/// Joins dimensions whose elements continue each other, outermost first. Those of size 1 vanish.
std::vector<Part> joinedParts(std::span<const Part> dimensions);

/// The side that consists of these dimensions, outermost first.
Placement placementOf(std::span<const Part> parts);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_PLACEMENT_H
