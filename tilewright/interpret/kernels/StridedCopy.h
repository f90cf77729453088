// The strided copy loop that implements all data movement.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H
#define TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::interpret {

/// A strided box of elements in memory. Strides are in elements, and may be zero (an element is
/// repeated) or negative (a dimension is reversed).
struct StridedBox {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

/// Copies the element at each index of `dims` from its position in `source` to its position in
/// `target`.
void copyStrided(const std::vector<int64_t> &dims, const std::byte *from, const StridedBox &source,
                 std::byte *to, const StridedBox &target, size_t elementBytes);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H
