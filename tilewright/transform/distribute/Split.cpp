#include "tilewright/transform/distribute/Split.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/BinaryOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/UnaryOps.h"
#include "tilewright/transform/distribute/SplitPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// Ops whose results nobody needs would have their operands gathered.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

class Rewrite {
public:
  Rewrite(func::FuncOp main, Pieces &pieces, const SplitPlan &plan)
      : main(main), pieces(pieces), plan(plan) {}

  Status run() {
    collect();
    for (const auto &[value, cut] : plan.cuts())
      if (!cut.isWhole()) {
        TILEWRIGHT_ASSIGN(Type piece, pieces.pieceType(value.getType(), cut));
        // Uses are told by their operands, so a value can change its type under them.
        const_cast<Value &>(value).setType(piece);
      }
    for (Operation *op : divided)
      finish(op, *plan.find(op));
    for (const Conversion &conversion : conversions)
      TILEWRIGHT_TRY(convert(conversion));
    // These look at the types of operands.
    for (Operation *op : divided)
      fitAttributes(op);
    divideSignature();
    for (Operation *op : passing)
      inlineBody(op);
    return Status();
  }

private:
  struct Conversion {
    OpOperand *use;
    Cut from, to;
  };

  void collect() {
    main.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<sdy::ManualComputationOp, sdy::ShardingConstraintOp>(op))
        passing.push_back(op);
      if (const SplitPlan::OpPlan *found = plan.find(op); found && found->isDivided())
        divided.push_back(op);
      for (OpOperand &use : op->getOpOperands()) {
        const Cut &from = plan.cutOf(use.get());
        Cut to = plan.wanted(use);
        if (op == main.front().getTerminator())
          resultCuts.push_back(to);
        if (!(from == to))
          conversions.push_back({&use, from, std::move(to)});
      }
    });
  }

  /// What an op needs besides other types: the start of its piece, the parts of the others.
  void finish(Operation *op, const SplitPlan::OpPlan &how) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
      const auto dim = static_cast<size_t>(iota.getIotaDimension());
      const Cut &cut = plan.cutOf(result);
      if (cut.along(dim).empty())
        return;
      auto type = cast<RankedTensorType>(result.getType());
      Value start = pieces.startOf(builder, op->getLoc(), cut, dim,
                                   type.getDimSize(static_cast<unsigned>(dim)));
      start = stablehlo::ConvertOp::create(builder, op->getLoc(),
                                           RankedTensorType::get({}, type.getElementType()), start);
      start = stablehlo::BroadcastInDimOp::create(builder, op->getLoc(), type, start,
                                                  builder.getDenseI64ArrayAttr({}));
      auto sum = stablehlo::AddOp::create(builder, op->getLoc(), type, result, start);
      result.replaceAllUsesExcept(sum, sum);
      return;
    }
    const Axes axes = how.combinedAxes();
    if (axes.empty())
      return;
    Value whole =
        pieces.allReduce(builder, op->getLoc(), result, *how.mesh, axes, how.rule.combine);
    result.replaceAllUsesExcept(whole, whole.getDefiningOp());
  }

  /// Where the value is made, once for all who use it like this.
  Status convert(const Conversion &conversion) {
    Value value = conversion.use->get();
    for (const auto &[cut, known] : converted[value])
      if (cut == conversion.to) {
        conversion.use->set(known);
        return Status();
      }
    OpBuilder builder(main.getContext());
    if (Operation *op = value.getDefiningOp())
      builder.setInsertionPointAfter(op);
    else
      builder.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
    TILEWRIGHT_ASSIGN(Value made, pieces.convert(builder, conversion.use->getOwner()->getLoc(),
                                                 value, conversion.from, conversion.to));
    converted[value].push_back({conversion.to, made});
    conversion.use->set(made);
    return Status();
  }

  void divideSignature() {
    Builder builder(main.getContext());
    for (BlockArgument argument : main.getArguments())
      if (const Cut &cut = plan.cutOf(argument); !cut.isWhole())
        main.setArgAttr(argument.getArgNumber(), "exec.sharding",
                        builder.getStringAttr(pieces.opSharding(cut)));
    Operation *terminator = main.front().getTerminator();
    for (auto [number, cut] : llvm::enumerate(resultCuts))
      if (!cut.isWhole())
        main.setResultAttr(static_cast<unsigned>(number), "exec.sharding",
                           builder.getStringAttr(pieces.opSharding(cut)));
    main.setType(
        builder.getFunctionType(main.front().getArgumentTypes(), terminator->getOperandTypes()));
  }

  /// The operands are what the body takes, its values what the op gives.
  static void inlineBody(Operation *op) {
    auto manual = dyn_cast<sdy::ManualComputationOp>(op);
    if (!manual) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
      return;
    }
    Block &body = manual.getBody().front();
    for (auto [argument, piece] : llvm::zip_equal(body.getArguments(), op->getOperands()))
      argument.replaceAllUsesWith(piece);
    Operation *terminator = body.getTerminator();
    SmallVector<Value> results(terminator->getOperands());
    terminator->erase();
    op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
    op->replaceAllUsesWith(results);
    op->erase();
  }

  func::FuncOp main;
  Pieces &pieces;
  const SplitPlan &plan;
  SmallVector<Operation *> divided, passing;
  std::vector<Conversion> conversions;
  std::vector<Cut> resultCuts;
  DenseMap<Value, SmallVector<std::pair<Cut, Value>, 1>> converted;
};

} // namespace

Status split(ModuleOp module, int64_t partitions) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (partitions <= 1 || !main)
    return Status();
  eraseDead(main.front());
  Pieces pieces(module, partitions);
  TILEWRIGHT_ASSIGN(SplitPlan plan, SplitPlan::make(main, pieces));
  plan.remark(partitions);
  return Rewrite(main, pieces, plan).run();
}

} // namespace tilewright::distribute
