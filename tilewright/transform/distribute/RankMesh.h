// RankMesh: the ranks of a program as a grid with named axes, kept on the module.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::distribute {

/// Axes, one bit each; the first is bit 0.
using AxisBits = uint32_t;

struct RankMesh {
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  std::vector<Axis> axes;     // the first outermost
  std::vector<int64_t> order; // the rank at each place; empty if they are numbered row-major

  int64_t ranks() const;
  /// The axes with more than one place.
  AxisBits proper() const;
};

/// Chooses the mesh of a program of `replicas` times `partitions` ranks: `wanted` if it has axes,
/// else that of the program's sdy.mesh with as many devices as there are partitions and the most
/// axes, else one axis "partition"; in front of either, an axis "replica" if there are several.
/// Leaves it on the module as `exec.mesh`. Before anything else, because meshes go away.
///  - commMesh (E6020): `wanted` has another number of ranks.
Status chooseMesh(mlir::ModuleOp module, std::vector<RankMesh::Axis> wanted, int64_t replicas,
                  int64_t partitions);

/// What chooseMesh() left; one rank if it left nothing.
RankMesh meshOf(mlir::ModuleOp module);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
