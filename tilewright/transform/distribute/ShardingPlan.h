// ShardingPlan: the sharding of each value, decided before the program is changed.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/transform/distribute/OpPlan.h"
#include "tilewright/transform/distribute/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tilewright::distribute {

/// An i64 attribute on a constraint: the sharding group that its value belongs to.
inline constexpr llvm::StringLiteral groupAttribute = "tilewright.sharding_group";

/// The decisions for one function. If a value has one sharding and a use needs another, the value
/// must be resharded after its definition; ShardingPlan only records both shardings.
///
///   TILEWRIGHT_ASSIGN(ShardingPlan plan, ShardingPlan::make(main, shards));
///   plan.shardingOf(value);  // the sharding that the value is computed with
///   plan.wanted(operand);    // the sharding that this use needs
///
/// Forward propagation starts from the shardings in the program (parameters, constraints, manual
/// computations): an op follows every operand sharding that its rule allows, so that each device
/// computes its shard. Backward propagation then shards replicated values of which all uses want
/// the same shards. No decision uses a cost model; a partitioner with a cost model could produce a
/// plan of the same form.
class ShardingPlan {
public:
  using OpPlan = distribute::OpPlan;

  /// - planOp (E2101): the sharding of a parameter, a result or a manual computation cannot be
  ///   followed.
  static Result<ShardingPlan> make(mlir::func::FuncOp main, ShardBuilder &shards);

  const Sharding &shardingOf(mlir::Value value) const;
  Sharding wanted(mlir::OpOperand &operand) const;
  const OpPlan *find(mlir::Operation *op) const;
  const llvm::DenseMap<mlir::Value, Sharding> &shardings() const { return valueShardings; }

  /// Emits a remark for each op with an operand that must be gathered, with the reason. Logs how
  /// every op is sharded.
  void remark(int64_t devices) const;

private:
  ShardingPlan(mlir::func::FuncOp main, ShardBuilder &shards) : main(main), shards(shards) {}

  Status readShardings();
  Status readManual(sdy::ManualComputationOp op);
  Status readConstraint(sdy::ShardingConstraintOp op);
  /// Propagates the operands' shardings along non-manual axes into the body.
  void forwardManual(sdy::ManualComputationOp op);
  /// The sharding along non-manual axes that the body gives a result.
  Sharding givenBy(sdy::ManualComputationOp op, unsigned number) const;

  /// Gives all members of a sharding group the sharding of the first sharded member. Returns
  /// whether any sharding changed.
  bool joinGroups();

  void forward(mlir::Block &block);
  void forward(mlir::Operation *op);
  void forwardLoop(stablehlo::WhileOp loop, llvm::ArrayRef<Sharding> begin = {});
  void forwardBranch(mlir::Operation *op);
  void forwardByRule(mlir::Operation *op);
  void backward(mlir::Block &block);
  void backwardLoop(stablehlo::WhileOp loop);
  /// The number of values that are gathered or summed inside an op.
  int64_t communicationsIn(mlir::Operation *around) const;
  /// The sharding that all uses of a value want; nullopt if they want different ones or there is no
  /// use.
  std::optional<Sharding> wantedByAll(mlir::Value value) const;
  /// Shards an op further if all uses of its results want that and no operand must be gathered for
  /// it.
  void refine(mlir::Operation *op);
  void setResults(mlir::Operation *op, const OpPlan &plan);

  mlir::func::FuncOp main;
  ShardBuilder &shards;
  std::vector<std::optional<Sharding>> resultShardings;
  /// The shardings that a manual region declares (`own`), and those of its inputs including
  /// non-manual axes.
  struct Manual {
    std::vector<Sharding> ownInputs, ownResults, inputs;
  };
  llvm::DenseMap<mlir::Operation *, Manual> manuals;
  /// The sharding of a constraint; open dimensions keep the operand's sharding.
  struct Constraint {
    Sharding sharding;
    std::vector<bool> isOpen;
  };
  llvm::DenseMap<mlir::Operation *, Constraint> constraints;
  /// The constraints that mark the members of each sharding group, in program order.
  std::map<int64_t, std::vector<sdy::ShardingConstraintOp>> groups;
  std::vector<std::pair<mlir::Operation *, std::string>> unfollowed; // with the reason
  // Values without an entry are replicated.
  llvm::DenseMap<mlir::Value, Sharding> valueShardings;
  llvm::DenseMap<mlir::Operation *, OpPlan> plans;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H
