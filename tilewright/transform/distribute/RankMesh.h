// RankMesh: the ranks of a program as a mesh with named axes, stored on the module.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H

#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/numerics/Mesh.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::distribute {

using numerics::AxisSet;
using numerics::Mesh;
using numerics::MeshAxis;

/// The module's attribute in which chooseMesh() stores the mesh.
inline constexpr llvm::StringLiteral meshAttr = "exec.mesh";

/// Chooses the mesh of a program of `replicas` times `partitions` ranks: `wanted` if it has axes;
/// otherwise the program's sdy.mesh with as many devices as partitions and the most axes; otherwise
/// a single axis "partition". With several replicas, an axis "replica" is prepended. Stores the
/// mesh on the module as `exec.mesh`. Must run before all passes that erase meshes.
///  - commMesh (E6020): the number of ranks in `wanted` does not match.
Status chooseMesh(mlir::ModuleOp module, std::vector<MeshAxis> wanted, int64_t replicas,
                  int64_t partitions);

/// The numbers of replicas and partitions of a program; 0 means the number in the module.
interpret::RankGrid gridOf(mlir::ModuleOp module, int64_t replicas, int64_t partitions);

/// The mesh that chooseMesh() stored; a single rank if it did not run.
Mesh meshOf(mlir::ModuleOp module);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RANKMESH_H
