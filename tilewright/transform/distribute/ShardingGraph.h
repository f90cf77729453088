// ShardingGraph: a program as a graph of nodes that shard values, with the shardings that the
// program fixes.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGGRAPH_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGGRAPH_H

#include "tilewright/transform/distribute/Sharding.h"
#include "tilewright/transform/distribute/ShardingRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tilewright::distribute {

/// An i64 attribute on a constraint: the sharding group that its value belongs to.
inline constexpr llvm::StringLiteral groupAttribute = "tilewright.sharding_group";

/// A decision: an op with its rule, or values that have one sharding in common. These are a value
/// that a loop carries (its initial value, its argument in both regions, what the body returns, the
/// loop's result), a result of a branch, a sharding constraint, a sharding group, a parameter, a
/// result of the program, and an operand or result of a manual computation.
struct GraphNode {
  mlir::Operation *op = nullptr; // null for parameters
  bool isOp = false;             // `rule` is the rule of `op`, and ins are its operands
  bool isFreeResult = false;     // of the program
  ShardingRule rule;             // its operands are `ins`, its results are `outs`
  llvm::SmallVector<mlir::OpOperand *, 2> ins;
  llvm::SmallVector<int, 2> inValues, outs; // numbers of values
  double repeats = 1;                       // how often it runs
  /// Each alternative is a set of operands that may be partial sums together; the results then are
  /// partial sums, too.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1> linear;

  /// The shardings that the program fixes for the loops: their axes, and the loops that may not get
  /// more axes.
  bool isFixed = false;
  std::shared_ptr<const numerics::MeshCoordinates> mesh;
  std::vector<Axes> fixed;
  std::vector<bool> isClosed;
  Axes fixedOpen;                            // unreduced axes
  llvm::StringRef combine = "stablehlo.add"; // along unreduced axes
  /// For a manual computation: the sharding along the manual axes, as seen from outside its body.
  Sharding outerIn, outerOut;
  const std::vector<std::string> *manualAxes = nullptr; // axes that are not available here
};

struct GraphValue {
  mlir::Value value;
  int maker = -1, makerOut = 0; // the node that computes it
  double repeats = 1;           // how often it is computed
  bool isHeld = false;          // a loop uses it, so it stays in memory as long as the loop runs
  struct Use {
    int node;
    unsigned in;
  };
  std::vector<Use> uses;
};

struct ShardingGraph {
  std::vector<GraphNode> nodes; // operands come before uses, except what loop bodies return
  std::vector<GraphValue> values;
  llvm::DenseMap<mlir::Value, int> numberOf;
  std::vector<std::shared_ptr<const numerics::MeshCoordinates>> meshes; // in order of appearance
  /// Rules of functions whose bodies are in the program (isRuleOfFunction): nodes that only pass on
  /// shardings, from parameters of the function to its results. Sorted by `after`, the node that
  /// they follow.
  struct FunctionRule {
    int after;
    GraphNode node;
  };
  std::vector<FunctionRule> functionRules;
  /// Constraints that are ignored, with the reason.
  std::vector<std::pair<mlir::Operation *, std::string>> unfollowed;

  /// - planOp (E2101): the sharding of a parameter, a result or a manual computation cannot be
  ///   followed.
  static Result<ShardingGraph> make(mlir::func::FuncOp main, ShardBuilder &shards);

private:
  class Reader;
  std::vector<std::unique_ptr<std::vector<std::string>>> manualAxisLists;
};

/// How a node is sharded.
struct Choice {
  std::shared_ptr<const numerics::MeshCoordinates> mesh;
  std::vector<Axes> loops; // the axes that split each loop
  Axes open;               // the axes along which operands and results are partial sums
  int linear = 0;          // which alternative of GraphNode::linear, if there are open axes

  bool operator==(const Choice &) const = default;
};

/// The sharding that a node requires of an operand, and the sharding that a result has after the
/// node.
Sharding wantedBy(const GraphNode &node, const Choice &choice, size_t in);
Sharding computedBy(const GraphNode &node, const Choice &choice, size_t out);
/// Whether a node can be split in this way: all values are divisible, no device needs a split loop
/// as a whole, and a single op combines partial results.
bool fits(const ShardingGraph &graph, const GraphNode &node, const Choice &choice);
/// Whether dimensions are divisible and shards are contiguous.
bool divides(const ShardingGraph &graph, const GraphNode &node, const Choice &choice);

/// The alternatives of operands in which a result is linear (see GraphNode::linear), for sums over
/// devices: an op may then run on each device's term. Exact for integers, which wrap; for floats
/// the order of rounding changes.
llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 1> linearOperands(mlir::Operation *op);

/// `outer`, with each of its shards sharded further by `inner`.
Sharding nested(const Sharding &outer, Sharding inner);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGGRAPH_H
