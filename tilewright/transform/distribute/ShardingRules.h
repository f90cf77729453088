// ShardingRules: the sharding rule of each op (Shardy: OpShardingRule).
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::distribute {

/// An op as a loop nest. A matmul of [m, k] and [k, n] has three loops: m and n run over the
/// result, k is summed. Devices that split a loop need shards of the operands that have a dimension
/// in it, and compute shards of the results. If the results have no dimension in the loop, the
/// devices compute partial results, which `combine` reduces.
///
/// All dimensions of a loop have the same number of shards, but need not have the same size: for a
/// reshape of [640] to [64, 10], the dimensions of size 640 and 64 belong to the same loop.
///
/// Pure data: decisions are left to ShardingPlan or another partitioner.
struct ShardingRule {
  /// A dimension that cannot be sharded.
  static constexpr int replicated = -1;

  llvm::SmallVector<llvm::SmallVector<int>> operands, results; // the loop of each dimension
  int loops = 0;
  llvm::SmallVector<int, 1> combined; // loops that are not in the result
  llvm::StringRef combine;            // "stablehlo.add", if there are such loops
  llvm::StringRef why; // what the op does with dimensions that it cannot shard: "sorts"

  bool isCombined(int loop) const { return llvm::is_contained(combined, loop); }
};

/// Whether each result of an op equals its operand under any sharding: barriers, and annotation
/// calls (such as "Sharding"), which simplify removes.
bool passesOn(mlir::Operation *op);

/// nullopt if the op must be computed on replicated operands.
std::optional<ShardingRule> shardingRuleOf(mlir::Operation *op);

/// Adapts the attributes of an op to the types of its operands and results, which are now shards.
void fitAttributes(mlir::Operation *op);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H
