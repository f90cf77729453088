// ShardingRules: the sharding rule of each op (Shardy: OpShardingRule).
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::distribute {

/// The communication that devices need to split a loop (Shardy's name in parentheses).
enum class LoopKind {
  pass,    ///< nothing: each computes its shard (passThrough)
  reduced, ///< each computes a partial result, which `Loop::combine` reduces (reduction)
  shifted, ///< each needs elements of its neighbours' shards (permutation)
  whole,   ///< not possible: each needs the whole dimension (needReplication)
};

struct Loop {
  int64_t size; // number of iterations
  LoopKind kind = LoopKind::pass;
  llvm::StringRef combine; // of a reduced loop: the op that combines two partial results
  bool blocked = false;    // shardings do not propagate along it, but an op may keep one
};

/// An op as a loop nest. A matmul of [m, k] and [k, n] has three loops: m and n run over the
/// result, k is reduced. Devices that split a loop need shards of the operands that have a
/// dimension in it, and compute shards of the results.
///
/// A dimension is a list of loops, outermost first: a reshape of [640] to [64, 10] has loops of 64
/// and 10, and its operand's dimension has both. A loop can be split only if all loops before it in
/// a dimension are split completely, because shards are contiguous. If the product of the loops'
/// sizes is less than the dimension's size, the innermost part of the dimension is in no loop; it
/// cannot be split, so a dimension without loops is replicated. Along shifted and whole loops, the
/// sizes of dimensions may differ from the loop's.
///
/// Pure data: decisions are left to ShardingPlan or another partitioner.
struct ShardingRule {
  using Dim = llvm::SmallVector<int, 1>; // numbers of loops
  using Dims = llvm::SmallVector<Dim, 4>;

  llvm::SmallVector<Dims> operands, results;
  llvm::SmallVector<Loop> loops;
  llvm::StringRef why; // what the op does with dimensions that it cannot shard: "sorts"

  /// Adds a loop and returns its number.
  int add(int64_t size, LoopKind kind = LoopKind::pass, llvm::StringRef combine = {}) {
    loops.push_back({size, kind, combine});
    return static_cast<int>(loops.size()) - 1;
  }
  const Loop &loop(int number) const { return loops[static_cast<size_t>(number)]; }
};

/// Whether each result of an op equals its operand under any sharding: barriers, and annotation
/// calls (such as "Sharding"), which simplify removes.
bool passesOn(mlir::Operation *op);

/// Whether an op is the custom call `tilewright.sharding_rule`, which returns its last operands.
/// Its `sdy.sharding_rule` says how the shardings of the results follow from those of all operands.
/// It represents a function of JAX's custom_partitioning, whose body is divided like other code:
/// the first operands are the function's parameters, the last ones its results.
bool isRuleOfFunction(mlir::Operation *op);
/// The operands that this call returns.
llvm::MutableArrayRef<mlir::OpOperand> returnedBy(mlir::Operation *ruleOfFunction);
/// The rule that `sdy.sharding_rule` of an op describes; nullopt if it has none, or if the factors
/// of a dimension do not give its size.
std::optional<ShardingRule> writtenRule(mlir::Operation *op);

/// nullopt if the op must be computed on replicated operands.
std::optional<ShardingRule> shardingRuleOf(mlir::Operation *op);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGRULES_H
