// RankMesh: the ranks of a program as a mesh with named axes, stored on the module.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::distribute {

/// A set of axes, one bit each; the first axis is bit 0.
using AxisBits = uint32_t;

struct RankMesh {
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  std::vector<Axis> axes;     // the first outermost
  std::vector<int64_t> order; // the rank at each coordinate; empty if row-major

  int64_t ranks() const;
  /// The axes of size greater than 1.
  AxisBits proper() const;
};

/// Chooses the mesh of a program of `replicas` times `partitions` ranks: `wanted` if it has axes;
/// otherwise the program's sdy.mesh with as many devices as partitions and the most axes; otherwise
/// a single axis "partition". With several replicas, an axis "replica" is prepended. Stores the
/// mesh on the module as `exec.mesh`. Must run before all passes that erase meshes.
///  - commMesh (E6020): the number of ranks in `wanted` does not match.
Status chooseMesh(mlir::ModuleOp module, std::vector<RankMesh::Axis> wanted, int64_t replicas,
                  int64_t partitions);

/// The mesh that chooseMesh() stored; a single rank if it did not run.
RankMesh meshOf(mlir::ModuleOp module);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
