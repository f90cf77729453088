// Mesh: the ranks of a program as a grid with named axes, their coordinates, and groups along axes.
#ifndef TILEWRIGHT_NUMERICS_MESH_H
#define TILEWRIGHT_NUMERICS_MESH_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::numerics {

/// A set of axes of a mesh, one bit each; the first axis is bit 0.
using AxisSet = uint32_t;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis &) const = default;
};

/// A whole axis, or a sub-axis as in sdy: of an axis of size 12 factored as 2 x 3 x 2, the middle
/// factor is {axis, 2, 3}, where `preSize` is the product of the factors to its left.
struct AxisRef {
  size_t axis;
  int64_t preSize, size;
  bool operator==(const AxisRef &) const = default;
};

/// Whether two axes or sub-axes share a factor, or no factorization of the axis contains both.
bool overlap(const AxisRef &one, const AxisRef &other);

/// A grid of ranks (devices), as plain data. A mesh without axes has one rank.
struct Mesh {
  std::vector<MeshAxis> axes; // the first is outermost
  /// The rank at each position of the grid; empty if ranks are numbered in row-major order. This is
  /// the only part that grows with the number of ranks, and only programs with an explicit order
  /// have it.
  std::vector<int64_t> order;

  int64_t size() const;
  /// The axes of size greater than 1.
  AxisSet proper() const;
  /// - interpretGroups: the axis does not exist, or the factor does not divide it.
  Result<AxisRef> axis(std::string_view name) const;
  Result<AxisRef> axis(std::string_view name, int64_t preSize, int64_t size) const;
  bool operator==(const Mesh &) const = default;
};

/// Maps ranks to positions in a mesh and back.
class MeshCoordinates {
public:
  /// The mesh has been checked: its axes are positive, and its order is empty or a permutation.
  explicit MeshCoordinates(Mesh mesh);
  /// Checks a mesh from a program.
  ///  - interpretGroups: an axis is not positive, there are too many ranks, or the order is not a
  ///    permutation of 0 to their number - 1.
  static Result<MeshCoordinates> create(std::vector<MeshAxis> axes, std::vector<int64_t> order);

  const Mesh &mesh() const { return grid; }
  int64_t ranks() const { return count; }
  /// The distance between neighbours on an axis, in positions.
  int64_t stride(size_t axis) const { return strides[axis]; }
  int64_t coordinate(size_t axis, int64_t position) const {
    return position / strides[axis] % grid.axes[axis].size;
  }
  int64_t positionOf(int64_t rank) const {
    return positions.empty() ? rank : positions[static_cast<size_t>(rank)];
  }
  int64_t rankAt(int64_t position) const {
    return grid.order.empty() ? position : grid.order[static_cast<size_t>(position)];
  }

  /// The row-major index of a rank along some axes, in the mesh's order of axes.
  int64_t along(AxisSet axes, int64_t rank) const;
  /// Like along() above, for a list of axes, the first outermost.
  int64_t along(std::span<const AxisRef> axes, int64_t rank) const;
  /// Partitions the ranks into groups that differ only along `axes`, each in order of along(). An
  /// axis that overlaps one before it is ignored.
  std::vector<std::vector<int64_t>> groupsAlong(std::span<const AxisRef> axes) const;

private:
  Mesh grid;
  int64_t count;
  std::vector<int64_t> strides;
  std::vector<int64_t> positions; // by rank; empty if row-major
};

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_MESH_H
