// A box of a tensor: the rows that one cp.async.bulk.tensor copies.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORBOX_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORBOX_H

#include "tilewright/vgpu/machine/async/TensorMap.h"

#include <algorithm>
#include <span>
#include <vector>

namespace tilewright::vgpu::machine {

/// Rows along dimension 0. Columns are groups of elements that fill whole bytes.
struct Box {
  const TensorMap &map;
  int64_t start[5] = {}; // in elements
  /// The addresses of rows that do not form a tile, 0 for those outside the tensor; see
  /// chooseRows() and walkPixels().
  std::vector<uint64_t> chosen{};

  uint32_t count(unsigned i) const { return (map.box[i] + map.step[i] - 1) / map.step[i]; }
  uint32_t columns() const { return count(0) / group.elements; }
  /// Bytes of a row in global memory and, with padding, in shared memory.
  uint32_t rowBytes() const { return columns() * group.inGlobal; }
  uint32_t sharedRowBytes() const { return columns() * group.inShared; }
  uint32_t rows() const {
    if (!chosen.empty())
      return static_cast<uint32_t>(chosen.size());
    uint32_t total = 1;
    for (unsigned i = 1; i < map.rank; ++i)
      total *= count(i);
    return total;
  }
  uint32_t sharedBytes() const { return sharedRowBytes() * rows(); }
  /// The number of bytes that a load reports to its mbarrier. Padding is not counted, as CUTLASS
  /// expects.
  uint32_t dataBytes() const { return rowBytes() * rows(); }
  /// The first column of the row, relative to the tensor.
  int64_t firstColumn() const { return start[0] / int64_t(group.elements); }
  /// The columns of each row that are inside the tensor, relative to firstColumn().
  int64_t beginInside() const {
    const int64_t first = firstColumn(), step = map.step[0];
    return first >= 0 ? 0 : (-first + step - 1) / step;
  }
  int64_t endInside() const {
    const auto size = static_cast<int64_t>(map.size[0] / group.elements);
    return std::min<int64_t>(columns(), (size - firstColumn() + map.step[0] - 1) / map.step[0]);
  }
  /// The address of coordinate 0 in row `row`; 0 if the row is outside the tensor.
  uint64_t rowAddress(uint32_t row) const;

  /// For tile::gather4 and tile::scatter4: the box has these four rows of a matrix.
  Status chooseRows(std::span<const int32_t, 4> rows);
  /// For the modes of im2col: the box contains the pixels from `start` on. They advance along W, H,
  /// D and N within the corners of the map; im2col::w keeps H and D fixed. `offsets` are the
  /// instruction's: along W, H and D, or the halo and the offset along W.
  Status walkPixels(std::span<const uint16_t> offsets);
  /// An error if a box cannot begin there.
  Status check() const;

  const ElementGroup group = groupOf(map.element);

private:
  /// The address of coordinate 0 at these coordinates of dimensions 1 and up; 0 outside the tensor.
  uint64_t addressAt(std::span<const int64_t> coordinates) const;
};

/// The position to which a swizzle moves the byte at an address, as for matrix descriptors.
uint32_t swizzled(TensorSwizzle swizzle, uint32_t address);
/// Copies a row between global memory's byte order and shared memory, where the row starts at
/// offset `place` in the block's memory.
void rowToShared(const Box &box, const std::byte *row, std::byte *shared, uint32_t place);
void rowFromShared(const Box &box, std::byte *row, const std::byte *shared, uint32_t place);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORBOX_H
