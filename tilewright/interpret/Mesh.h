// Devices in a grid with named axes: who is where, and who shares an axis.
#ifndef TILEWRIGHT_INTERPRET_MESH_H
#define TILEWRIGHT_INTERPRET_MESH_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::interpret {

/// A grid of devices. Both dialects that know meshes are turned into this one.
class Mesh {
public:
  struct Axis {
    std::string name;
    int64_t size;
  };
  /// An axis, or the factor of `size` devices that has `preSize` to its left:
  /// of an axis of 12 split as 2 x 3 x 2, the middle is {axis, 2, 3}.
  struct AxisRef {
    size_t axis;
    int64_t preSize, size;
  };

  /// Without `deviceIds` devices are numbered in row-major order.
  ///  - interpretGroups: the ids are not a permutation of the grid.
  static Result<Mesh> create(std::vector<Axis> axes, std::vector<int64_t> deviceIds);

  int64_t deviceCount() const { return static_cast<int64_t>(ids.size()); }

  /// - interpretGroups: there is no such axis, or the factor does not divide it.
  Result<AxisRef> axis(std::string_view name) const;
  Result<AxisRef> axis(std::string_view name, int64_t preSize, int64_t size) const;

  /// Where a device lies along `refs` taken together, the first one outermost.
  int64_t positionAlong(std::span<const AxisRef> refs, int64_t device) const;

  /// The devices that differ only along `refs`, in the order of their
  /// positions: one group for each place outside.
  std::vector<std::vector<int64_t>> groupsAlong(std::span<const AxisRef> refs) const;

private:
  std::vector<int64_t> coordinatesOf(int64_t device) const;

  std::vector<Axis> axes;
  std::vector<int64_t> ids;       // by place in the grid
  std::vector<int64_t> placeById; // the inverse
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_MESH_H
