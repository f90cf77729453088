// Replication: along which axes of the mesh the ranks may see different values, and so choose
// differently.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H

#include "tilewright/transform/distribute/RankMesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"

namespace tilewright::distribute {

/// What is known before the run about the choice of a loop or a branch.
struct ControlFacts {
  AxisBits varies = 0;
  /// If nothing but the rank decides a branch: its region, by the place along `varies`, row-major.
  std::vector<int64_t> choices;
};

/// Computes the facts of every loop and branch that has a collective inside, and leaves them on it
/// as `exec.varies` and `exec.choices`; for what has none of these, factsOf() assumes the worst.
///
/// A parameter varies along the axes that cut it, and along replicas unless the program says that
/// they get the same; one without a sharding is the same everywhere, as for the rest of the
/// compiler. The rank's own number is followed through integer scalars and tables. All else
/// varies as its operands do; all_reduce, all_gather and broadcast make their results the same
/// within each group; what comes from outside (infeed, side effects, rng) varies along everything.
///
/// Expects a module with one function in which calls are inlined, before ops are fused.
void markControl(mlir::ModuleOp module);

ControlFacts factsOf(mlir::Operation *op, const RankMesh &mesh);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATION_H
