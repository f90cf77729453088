#include "tilewright/transform/distribute/Split.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/distribute/FoldSlices.h"
#include "tilewright/transform/distribute/Memory.h"
#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/ShardingPlan.h"
#include "tilewright/transform/distribute/Uneven.h"
#include "tilewright/transform/distribute/local/Local.h"
#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// Whether an op is a composite whose results have no uses and whose decomposition has no effects.
bool isDeadComposite(Operation *op) {
  auto composite = dyn_cast<stablehlo::CompositeOp>(op);
  if (!composite || !op->use_empty())
    return false;
  auto meaning =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, composite.getDecompositionAttr());
  return meaning && llvm::all_of(meaning.getOps(), [](Operation &inner) {
           return inner.hasTrait<OpTrait::IsTerminator>() || wouldOpBeTriviallyDead(&inner);
         });
}

/// Erases dead ops, because their operands would be gathered for nothing.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op) || isDeadComposite(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

/// Removes constraints from the bodies of reductions, sorts and scatters. JAX puts them there with
/// explicit axes, and they hide from rules what a body computes; scalars are not sharded.
void eraseConstraintsOfScalars(func::FuncOp main) {
  SmallVector<sdy::ShardingConstraintOp> inBodies;
  main.walk([&](sdy::ShardingConstraintOp op) {
    if (!isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp,
             sdy::ManualComputationOp>(op->getParentOp()))
      inBodies.push_back(op);
  });
  for (sdy::ShardingConstraintOp op : inBodies) {
    op.getResult().replaceAllUsesWith(op.getInput());
    op.erase();
  }
}

/// Turns a member of a sharding group into a constraint with open dimensions and the group's id, so
/// that the plan can shard all members alike.
void constrainGroups(func::FuncOp main) {
  auto meshes = main->getParentOfType<ModuleOp>().getOps<sdy::MeshOp>();
  DominanceInfo dominance(main);
  SmallVector<sdy::ShardingGroupOp> members;
  main.walk([&](sdy::ShardingGroupOp op) { members.push_back(op); });
  for (sdy::ShardingGroupOp op : members) {
    OpBuilder builder(op);
    MLIRContext *context = op.getContext();
    if (!meshes.empty()) {
      auto open = sdy::DimensionShardingAttr::get(context, {}, /*is_closed=*/false, std::nullopt);
      SmallVector<sdy::DimensionShardingAttr> dims(
          static_cast<size_t>(op.getInput().getType().getRank()), open);
      auto sharding = sdy::TensorShardingAttr::get(
          context, FlatSymbolRefAttr::get(context, (*meshes.begin()).getSymName()), dims, {}, {},
          sdy::Reduction::Sum);
      auto alike = sdy::ShardingConstraintOp::create(builder, op.getLoc(), op.getInput().getType(),
                                                     op.getInput(), sharding);
      alike->setAttr(groupAttribute, op.getGroupIdAttr());
      op.getInput().replaceUsesWithIf(alike.getResult(), [&](OpOperand &use) {
        return use.getOwner() != alike.getOperation() &&
               dominance.properlyDominates(alike.getOperation(), use.getOwner());
      });
    }
    op.erase();
  }
}

class Rewrite {
public:
  Rewrite(func::FuncOp main, ShardBuilder &shards, const ShardingPlan &plan)
      : main(main), shards(shards), plan(plan) {}

  Status run() {
    collect();
    for (auto &[value, targets] : conversions)
      globalTypes[value] = value.getType();
    for (const auto &[value, sharding] : plan.shardings())
      if (!sharding.isReplicated()) {
        TILEWRIGHT_ASSIGN(Type shard, shards.shardType(value.getType(), sharding));
        // The map's key is const, but a Value is a handle: this sets the type of the value in the
        // IR.
        const_cast<Value &>(value).setType(shard);
      }
    for (auto &[value, targets] : conversions)
      TILEWRIGHT_TRY(reshard(value, targets));
    // Fit attributes only after resharding, because they depend on the new operand types.
    for (Operation *op : sharded) {
      op->removeAttr(sdy::SdyDialect::shardingRuleName); // it describes the whole tensors
      TILEWRIGHT_TRY(computeLocally(op, *plan.find(op), shards));
    }
    setSignature();
    for (Operation *op : passing)
      inlineBody(op);
    for (auto [op, device] : onOneDevice)
      shards.runOnOneDevice(op, device);
    return Status();
  }

private:
  struct Target { // a use and the sharding that it needs
    OpOperand *use;
    Sharding to;
    int copy; // see ShardingPlan::copyOf
  };

  void collect() {
    main.walk<WalkOrder::PreOrder>([&](Operation *op) {
      const bool isRule = isRuleOfFunction(op);
      if (isRule || isa<sdy::ManualComputationOp, sdy::ShardingConstraintOp>(op))
        passing.push_back(op);
      // Exclude calls that every device makes: those in a manual region, and those with a plan,
      // which process the device's shard (`jax.debug.print(partitioned=True)`).
      if (isa<stablehlo::CustomCallOp>(op) && !plan.find(op) &&
          !op->getParentOfType<sdy::ManualComputationOp>() &&
          llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
        if (std::optional<int64_t> device = shards.onlyDeviceOf(op)) {
          TILEWRIGHT_LOG(splitPassName, op, "runs only on device ", *device,
                         ": its results have a maximal sharding");
          onOneDevice.push_back({op, *device});
        }
      if (const ShardingPlan::OpPlan *found = plan.find(op); found && found->isSharded())
        sharded.push_back(op);
      // The first operands of a rule determine only shardings.
      for (OpOperand &use : isRule ? returnedBy(op) : op->getOpOperands()) {
        const Sharding &from = plan.shardingOf(use.get());
        Sharding to = plan.wanted(use);
        if (op == main.front().getTerminator())
          resultShardings.push_back(to);
        if (!(from == to)) {
          TILEWRIGHT_LOG(splitPassName, op, "operand ", use.getOperandNumber(),
                         " is resharded from ", from.toString(), " to ", to.toString());
          conversions[use.get()].push_back({&use, std::move(to), plan.copyOf(use)});
        }
      }
    });
  }

  static SmallVector<Sharding> distinct(ArrayRef<Target> targets) {
    SmallVector<Sharding> shardings;
    for (const Target &target : targets)
      if (!llvm::is_contained(shardings, target.to))
        shardings.push_back(target.to);
    return shardings;
  }

  /// The first op that uses a shard of `targets`, or contains such a use, in the value's block.
  static Operation *firstUser(Value value, ArrayRef<Target> targets) {
    Operation *first = nullptr;
    for (const Target &target : targets) {
      Operation *user = value.getParentBlock()->findAncestorOpInBlock(*target.use->getOwner());
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    return first;
  }

  /// Reshards a value for all of its uses: once for uses that need the same sharding, and again for
  /// uses after a copy was dropped.
  Status reshard(Value value, ArrayRef<Target> targets) {
    std::map<int, SmallVector<Target, 1>> copies;
    for (const Target &target : targets)
      copies[target.copy].push_back(target);
    for (const auto &[copy, uses] : copies)
      TILEWRIGHT_TRY(copy == 0 ? reshardOnce(value, uses) : reshardAgain(value, uses));
    return Status();
  }

  /// Makes copies that were dropped again, directly before their uses.
  Status reshardAgain(Value value, ArrayRef<Target> targets) {
    auto shape = cast<RankedTensorType>(globalTypes.lookup(value)).getShape();
    for (const Sharding &to : distinct(targets)) {
      SmallVector<Target, 1> uses;
      llvm::copy_if(targets, std::back_inserter(uses),
                    [&](const Target &target) { return target.to == to; });
      Operation *first = firstUser(value, uses), *before = first->getPrevNode();
      OpBuilder builder(first);
      TILEWRIGHT_ASSIGN(Value shard, shards.reshard(builder, first->getLoc(), value,
                                                    plan.shardingOf(value), to, shape));
      for (Operation *made = before ? before->getNextNode() : &first->getBlock()->front();
           made != first; made = made->getNextNode())
        if (stablehlo::isCollective(made))
          made->setAttr(stablehlo::repeatedAttribute, builder.getUnitAttr());
      TILEWRIGHT_LOG(splitPassName, first, "a copy of an operand is dropped before and made again");
      remark::passed(first->getLoc(), remark::RemarkOpts::name("distribute").category("distribute"))
          << remark::add("{0} reads a value that is resharded once more",
                         first->getName().getStringRef())
          << remark::reason("{0}", "holding it since its last use would take too much memory");
      for (const Target &target : uses)
        target.use->set(shard);
    }
    return Status();
  }

  /// Reshards a value after its definition or before its first use.
  Status reshardOnce(Value value, ArrayRef<Target> targets) {
    OpBuilder builder(main.getContext());
    if (plan.savesMemory() && isReshardedLate(plan.shardingOf(value), distinct(targets)))
      builder.setInsertionPoint(firstUser(value, targets));
    else if (Operation *op = value.getDefiningOp())
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
    auto shape = cast<RankedTensorType>(globalTypes.lookup(value)).getShape();
    SmallVector<std::pair<Sharding, Value>, 2> made = {{plan.shardingOf(value), value}};
    auto make = [&](Location location, const Sharding &to) -> Status {
      if (llvm::any_of(made, [&](const auto &one) { return one.first == to; }))
        return Status();
      // Start from the computed shard or from the home, whichever sends fewer bytes.
      size_t from = 0;
      if (made.size() > 1 && wireBytes(planReshard(made[1].first, to, shape, 1)) <
                                 wireBytes(planReshard(made[0].first, to, shape, 1)))
        from = 1;
      TILEWRIGHT_ASSIGN(Value shard, shards.reshard(builder, location, made[from].second,
                                                    made[from].first, to, shape));
      made.push_back({to, shard});
      return Status();
    };
    if (const Sharding &home = plan.homeOf(value); !(home == made[0].first))
      TILEWRIGHT_TRY(make(value.getLoc(), home));
    for (const Target &target : targets) {
      TILEWRIGHT_TRY(make(target.use->getOwner()->getLoc(), target.to));
      target.use->set(
          llvm::find_if(made, [&](const auto &one) { return one.first == target.to; })->second);
    }
    return Status();
  }

  void setSignature() {
    Builder builder(main.getContext());
    for (BlockArgument argument : main.getArguments())
      if (const Sharding &sharding = plan.shardingOf(argument); !sharding.isReplicated())
        main.setArgAttr(argument.getArgNumber(), "exec.sharding",
                        builder.getStringAttr(shards.opSharding(sharding)));
    Operation *terminator = main.front().getTerminator();
    for (auto [number, sharding] : llvm::enumerate(resultShardings))
      if (!sharding.isReplicated())
        main.setResultAttr(static_cast<unsigned>(number), "exec.sharding",
                           builder.getStringAttr(shards.opSharding(sharding)));
    main.setType(
        builder.getFunctionType(main.front().getArgumentTypes(), terminator->getOperandTypes()));
  }

  /// Inlines a manual computation's body; replaces a constraint by its operand, and the rule of a
  /// function by those that it returns.
  static void inlineBody(Operation *op) {
    auto manual = dyn_cast<sdy::ManualComputationOp>(op);
    if (!manual) {
      op->replaceAllUsesWith(op->getOperands().take_back(op->getNumResults()));
      op->erase();
      return;
    }
    Block &body = manual.getBody().front();
    for (auto [argument, shard] : llvm::zip_equal(body.getArguments(), op->getOperands()))
      argument.replaceAllUsesWith(shard);
    Operation *terminator = body.getTerminator();
    SmallVector<Value> results(terminator->getOperands());
    terminator->erase();
    op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
    op->replaceAllUsesWith(results);
    op->erase();
  }

  func::FuncOp main;
  ShardBuilder &shards;
  const ShardingPlan &plan;
  SmallVector<Operation *> sharded, passing;
  SmallVector<std::pair<Operation *, int64_t>> onOneDevice;
  llvm::MapVector<Value, SmallVector<Target, 1>> conversions;
  llvm::DenseMap<Value, Type> globalTypes; // of values that are resharded
  std::vector<Sharding> resultShardings;
};

} // namespace

Status split(ModuleOp module, int64_t partitions, int64_t memoryLimit) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (partitions <= 1 || !main)
    return Status();
  ShardBuilder shards(module, partitions);
  eraseConstraintsOfScalars(main);
  padUneven(main, shards);
  eraseDead(main.front());
  constrainGroups(main);
  foldSlices(main);
  TILEWRIGHT_ASSIGN(ShardingPlan plan, ShardingPlan::make(main, shards, memoryLimit));
  plan.remark(partitions);
  TILEWRIGHT_TRY(Rewrite(main, shards, plan).run());
  expandFoldedSlices(main);
  return Status();
}

} // namespace tilewright::distribute
