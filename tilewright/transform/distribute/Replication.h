// Replication: the mesh axes along which ranks may see different values, and so take different
// control-flow paths.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H

#include "tilewright/transform/distribute/RankMesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"

namespace tilewright::distribute {

/// Static knowledge about the condition of a loop or a branch.
struct ControlFacts {
  AxisSet varies = 0;
  /// For a branch that depends only on the rank: the chosen region for each row-major coordinate
  /// along `varies`. Otherwise empty.
  std::vector<int64_t> choices;
};

/// Computes the facts of every loop and branch that contains a collective, and stores them on the
/// op as `exec.varies` and `exec.choices`. For ops without these attributes, factsOf() assumes the
/// worst.
///
/// A parameter varies along the axes that shard it, and along replicas unless the program declares
/// it equal on all replicas. A parameter without a sharding is replicated, as in the rest of the
/// compiler. Integer scalars and tables computed from the rank are evaluated for each rank. Every
/// other result varies as its operands do. all_reduce, all_gather and broadcast make their results
/// equal within each group. Values from outside (infeed, side effects, rng) vary along all axes.
///
/// Also marks what transform/communicate cannot see: an all_reduce of values that are the same
/// within each group (`exec.replicated`), and a slice of an all_reduce that gives each rank the
/// part of its position in the group (`exec.own_part`, with the dimension).
///
/// Expects a module with one function whose calls are inlined, before fusion.
void markControl(mlir::ModuleOp module);

ControlFacts factsOf(mlir::Operation *op, const Mesh &mesh);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H
