// Mesh: devices in a mesh with named axes, their coordinates, and device groups along axes.
#ifndef TILEWRIGHT_INTERPRET_MESH_H
#define TILEWRIGHT_INTERPRET_MESH_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::interpret {

/// A mesh of devices. The meshes of the stablehlo and sdy dialects are converted to this class.
class Mesh {
public:
  struct Axis {
    std::string name;
    int64_t size;
  };
  /// A whole axis, or a sub-axis as in sdy: of an axis of size 12 factored as 2 x 3 x 2, the middle
  /// factor is {axis, 2, 3}, where `preSize` is the product of the factors to its left.
  struct AxisRef {
    size_t axis;
    int64_t preSize, size;
  };

  /// If `deviceIds` is empty, devices are numbered in row-major order.
  ///  - interpretGroups: the ids are not a permutation of 0 to the device count - 1.
  static Result<Mesh> create(std::vector<Axis> axes, std::vector<int64_t> deviceIds);

  int64_t deviceCount() const { return static_cast<int64_t>(ids.size()); }

  /// - interpretGroups: the axis does not exist, or the factor does not divide it.
  Result<AxisRef> axis(std::string_view name) const;
  Result<AxisRef> axis(std::string_view name, int64_t preSize, int64_t size) const;

  /// The row-major position of a device along `refs`; the first axis is outermost.
  int64_t positionAlong(std::span<const AxisRef> refs, int64_t device) const;

  /// Partitions the devices into groups that differ only along `refs`, each in order of
  /// positionAlong().
  std::vector<std::vector<int64_t>> groupsAlong(std::span<const AxisRef> refs) const;

private:
  std::vector<int64_t> coordinatesOf(int64_t device) const;

  std::vector<Axis> axes;
  std::vector<int64_t> ids;          // by position in the mesh
  std::vector<int64_t> positionById; // the inverse
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_MESH_H
