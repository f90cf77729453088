// SplitPlan: which piece of each value a device holds, decided before anything is changed.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITPLAN_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITPLAN_H

#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/transform/distribute/Pieces.h"
#include "tilewright/transform/distribute/SplitRules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::distribute {

/// The decisions for one function. A value that is divided one way and used another is converted
/// where it is made; SplitPlan only says so.
///
///   TILEWRIGHT_ASSIGN(SplitPlan plan, SplitPlan::make(main, pieces));
///   plan.cutOf(value);      // what a device holds
///   plan.wanted(operand);   // what this use of it needs
///
/// Forward, from what the program says (parameters, constraints, manual computations): an op takes
/// part in every division of its operands that its rule allows, so that each device computes its
/// piece. Then backward: what is whole on each device and used in pieces alone is computed in
/// pieces. Nothing is chosen by cost; that is the work of a partitioner, which would make another
/// plan of the same form.
class SplitPlan {
public:
  /// How an op is computed.
  struct OpPlan {
    SplitRule rule;
    std::shared_ptr<const interpret::Mesh> mesh;
    std::vector<Axes> loops; // the axes that divide each
    std::string uneven;      // a division that was not taken, because it does not come out even

    bool isDivided() const;
    /// The axes of all loops that have to be combined.
    Axes combinedAxes() const;
    Cut cutOf(llvm::ArrayRef<int> dims) const;
  };

  /// - planOp (E2101): a sharding of a parameter, a result or a manual computation that cannot be
  ///   followed.
  static Result<SplitPlan> make(mlir::func::FuncOp main, Pieces &pieces);

  const Cut &cutOf(mlir::Value value) const;
  Cut wanted(mlir::OpOperand &operand) const;
  const OpPlan *find(mlir::Operation *op) const;
  /// Of a result of the function; nothing if the caller leaves it to us.
  const std::optional<Cut> &resultCut(unsigned number) const { return resultCuts[number]; }
  const llvm::DenseMap<mlir::Value, Cut> &cuts() const { return valueCuts; }

  /// Says of each op for which something has to be gathered what, and why.
  void remark(int64_t devices) const;

private:
  SplitPlan(mlir::func::FuncOp main, Pieces &pieces) : main(main), pieces(pieces) {}

  Status readShardings();
  Status readManual(sdy::ManualComputationOp op);
  Status readConstraint(sdy::ShardingConstraintOp op);
  /// What a body gets besides: divisions of its operands along axes that it does not write itself.
  void forwardManual(sdy::ManualComputationOp op);
  /// How a value that a body gives is divided along such axes.
  Cut givenBy(sdy::ManualComputationOp op, unsigned number) const;

  void forward(mlir::Block &block);
  void forward(mlir::Operation *op);
  void forwardLoop(stablehlo::WhileOp loop);
  void forwardBranch(mlir::Operation *op);
  void divide(mlir::Operation *op);
  void backward(mlir::Block &block);
  /// What every use of a value needs, if that is the same; nothing if there is none.
  std::optional<Cut> wantedByAll(mlir::Value value) const;
  /// Divides an op further, if all who use its results want that and nothing has to be gathered.
  void refine(mlir::Operation *op);
  void setResults(mlir::Operation *op, const OpPlan &plan);

  mlir::func::FuncOp main;
  Pieces &pieces;
  std::vector<std::optional<Cut>> resultCuts;
  /// What a region that is written per device says itself, and with what is divided besides.
  struct Manual {
    std::vector<Cut> ownInputs, ownResults, inputs;
  };
  llvm::DenseMap<mlir::Operation *, Manual> manuals;
  /// What a constraint says; nothing of a dimension: whatever comes in.
  struct Constraint {
    Cut cut;
    std::vector<bool> isOpen;
  };
  llvm::DenseMap<mlir::Operation *, Constraint> constraints;
  std::vector<std::pair<mlir::Operation *, std::string>> unfollowed; // and why
  llvm::DenseMap<mlir::Value, Cut> valueCuts;                        // what is not here is whole
  llvm::DenseMap<mlir::Operation *, OpPlan> plans;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLITPLAN_H
