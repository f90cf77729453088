#include "tilewright/interpret/kernels/StridedCopy.h"

#include <cstring>

namespace tilewright::interpret {

namespace {
/// One dimension of the walk, with strides in bytes.
struct Axis {
  int64_t size, source, target;
};
} // namespace

/// Copies `size` elements of `bytes` bytes each; with a compile-time size, each copy is a single
/// move.
template <size_t bytes>
static void copyRow(int64_t size, const std::byte *from, int64_t source, std::byte *to,
                    int64_t target) {
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(to + i * target, from + i * source, bytes);
}

static void copyRow(const Axis &axis, const std::byte *from, std::byte *to, size_t bytes) {
  if (axis.source == static_cast<int64_t>(bytes) && axis.target == static_cast<int64_t>(bytes)) {
    std::memcpy(to, from, static_cast<size_t>(axis.size) * bytes);
    return;
  }
  switch (bytes) {
  case 1:
    return copyRow<1>(axis.size, from, axis.source, to, axis.target);
  case 2:
    return copyRow<2>(axis.size, from, axis.source, to, axis.target);
  case 4:
    return copyRow<4>(axis.size, from, axis.source, to, axis.target);
  case 8:
    return copyRow<8>(axis.size, from, axis.source, to, axis.target);
  default:
    return copyRow<16>(axis.size, from, axis.source, to, axis.target);
  }
}

void copyStrided(const std::vector<int64_t> &dims, const std::byte *from, const StridedBox &source,
                 std::byte *to, const StridedBox &target, size_t elementBytes) {
  const auto bytes = static_cast<int64_t>(elementBytes);
  // Merge adjacent dimensions that are contiguous in source and target, so that the inner loop is
  // as long as possible.
  std::vector<Axis> axes;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim] == 0)
      return;
    if (dims[dim] == 1)
      continue;
    const Axis axis{dims[dim], source.strides[dim] * bytes, target.strides[dim] * bytes};
    if (!axes.empty() && axes.back().source == axis.source * axis.size &&
        axes.back().target == axis.target * axis.size)
      axes.back() = {axes.back().size * axis.size, axis.source, axis.target};
    else
      axes.push_back(axis);
  }
  from += source.offset * bytes;
  to += target.offset * bytes;
  const Axis row = axes.empty() ? Axis{1, bytes, bytes} : axes.back();
  if (!axes.empty())
    axes.pop_back();

  std::vector<int64_t> index(axes.size(), 0);
  for (;;) {
    copyRow(row, from, to, elementBytes);
    size_t dim = axes.size();
    for (; dim > 0; --dim) {
      const Axis &axis = axes[dim - 1];
      from += axis.source;
      to += axis.target;
      if (++index[dim - 1] < axis.size)
        break;
      index[dim - 1] = 0;
      from -= axis.source * axis.size;
      to -= axis.target * axis.size;
    }
    if (dim == 0)
      return;
  }
}

} // namespace tilewright::interpret
