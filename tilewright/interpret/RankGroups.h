// RankGroups: who meets in a collective, as numbers of ranks.
#ifndef TILEWRIGHT_INTERPRET_RANKGROUPS_H
#define TILEWRIGHT_INTERPRET_RANKGROUPS_H

#include "tilewright/interpret/Ranks.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tilewright::interpret {

/// Groups of ranks; for collective_permute, send and recv, pairs.
using RankGroups = std::vector<std::vector<int64_t>>;

/// What the module says it is for (mhlo.num_replicas, mhlo.num_partitions); 1 each if it does not.
RankGrid rankGridOf(mlir::ModuleOp module);

/// The groups of a collective, whichever of the specification's four ways its numbers are meant.
///  - interpretGroups (E3011): it names processes, axes or a mesh that do not exist.
Result<RankGroups> rankGroupsOf(mlir::Operation *op, const RankGrid &grid);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_RANKGROUPS_H
