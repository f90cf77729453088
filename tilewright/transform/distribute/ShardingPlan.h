// ShardingPlan: the sharding of each value, decided before the program is changed.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H

#include "tilewright/transform/distribute/OpPlan.h"
#include "tilewright/transform/distribute/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::distribute {

/// The pass whose remarks these files write.
inline constexpr llvm::StringLiteral splitPassName = "distribute-split";

/// The decisions for one function. If a value has one sharding and a use needs another, the value
/// must be resharded after its definition; ShardingPlan only records both shardings.
///
///   TILEWRIGHT_ASSIGN(ShardingPlan plan, ShardingPlan::make(main, shards));
///   plan.shardingOf(value);  // the sharding that the value is computed with
///   plan.wanted(operand);    // the sharding that this use needs
///
/// The shardings in the program (parameters, results, constraints, manual computations) are read
/// into a ShardingGraph, and choose() decides the others by price.
class ShardingPlan {
public:
  using OpPlan = distribute::OpPlan;

  /// - planOp (E2101): the sharding of a parameter, a result or a manual computation cannot be
  ///   followed.
  /// With a `memoryLimit`, in bytes of one device, see choose().
  static Result<ShardingPlan> make(mlir::func::FuncOp main, ShardBuilder &shards,
                                   int64_t memoryLimit = 0);

  /// The sharding with which a value is computed. A sum of which each device has a term is
  /// unreduced.
  const Sharding &shardingOf(mlir::Value value) const;
  const Sharding &wanted(mlir::OpOperand &operand) const;
  /// The sharding into which a value is converted first, because its other shardings are made from
  /// it.
  const Sharding &homeOf(mlir::Value value) const;
  /// Copies of a value in the same sharding are numbered in the order in which they are made.
  /// Returns the number of the copy that a use reads; 0 is the first.
  int copyOf(mlir::OpOperand &operand) const { return copies.lookup(&operand); }
  const OpPlan *find(mlir::Operation *op) const;
  /// Whether there is a memory limit, so that some values are resharded late (isReshardedLate()).
  bool savesMemory() const { return hasLimit; }
  const llvm::DenseMap<mlir::Value, Sharding> &shardings() const { return valueShardings; }

  /// Emits a remark for each op with an operand that must be gathered, with the reason. Logs how
  /// every op is sharded.
  void remark(int64_t devices) const;

private:
  explicit ShardingPlan(mlir::func::FuncOp main) : main(main) {}
  /// The reason why an op does not use an operand in the sharding in which it is computed.
  std::string reasonFor(mlir::OpOperand &operand) const;

  mlir::func::FuncOp main;
  bool hasLimit = false;
  std::vector<std::pair<mlir::Operation *, std::string>> unfollowed; // with the reason
  // Values and uses without an entry are replicated.
  llvm::DenseMap<mlir::Value, Sharding> valueShardings, homes;
  llvm::DenseMap<mlir::OpOperand *, Sharding> wants;
  llvm::DenseMap<mlir::OpOperand *, int> copies;
  llvm::DenseMap<mlir::Operation *, OpPlan> plans;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SHARDINGPLAN_H
