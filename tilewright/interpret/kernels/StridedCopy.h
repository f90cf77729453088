// The one loop under all data movement.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H
#define TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::interpret {

/// A box of elements in somebody's memory. Strides are in elements, may be
/// zero (an element repeated) or negative (a dimension reversed).
struct StridedBox {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};

/// Copies the element at each index of `dims` from where `source` puts it to
/// where `target` puts it.
void copyStrided(const std::vector<int64_t> &dims, const std::byte *from, const StridedBox &source,
                 std::byte *to, const StridedBox &target, size_t elementBytes);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_STRIDEDCOPY_H
