// RankGroups: the groups of a collective, as rank numbers.
#ifndef TILEWRIGHT_INTERPRET_RANKS_RANKGROUPS_H
#define TILEWRIGHT_INTERPRET_RANKS_RANKGROUPS_H

#include "tilewright/interpret/ranks/Ranks.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace tilewright::interpret {

/// Groups of ranks; for collective_permute, send and recv, pairs.
using RankGroups = std::vector<std::vector<int64_t>>;

/// The module's mhlo.num_replicas and mhlo.num_partitions; 1 each if absent.
RankGrid rankGridOf(mlir::ModuleOp module);

/// The groups of a collective, for any of the StableHLO specification's four strategies for
/// numbering processes.
///  - interpretGroups (E3011): the op names processes, axes or a mesh that do not exist.
Result<RankGroups> rankGroupsOf(mlir::Operation *op, const RankGrid &grid);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_RANKS_RANKGROUPS_H
