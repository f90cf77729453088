// communicate-move-out-of-loops: collectives that need not run in every iteration.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/CollectivePrice.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/LoopState.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_MOVEOUTOFLOOPSPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

/// A reduction that can move behind the loop: of a sum that the loop accumulates, or of slices that
/// it stores.
struct Accumulation {
  unsigned state;       // the carried value
  Operation *reduction; // in the body
  Operation *last;      // the add or the dynamic_update_slice
};

bool isZero(Value value) {
  DenseElementsAttr constant;
  while (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return false;
  if (isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().isPosZero();
  return isa<IntegerType>(constant.getElementType()) && constant.getSplatValue<APInt>().isZero();
}

struct MoveOutOfLoops : impl::MoveOutOfLoopsPassBase<MoveOutOfLoops> {
  using MoveOutOfLoopsPassBase::MoveOutOfLoopsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    allowance = memoryAllowance(function, memory);
    link.emplace(transform::Link::of(exec::targetOf(function)));
    // Visit inner loops first, so that a collective can leave several loops.
    SmallVector<stablehlo::WhileOp> loops;
    function.walk([&](stablehlo::WhileOp loop) { loops.push_back(loop); });
    for (stablehlo::WhileOp loop : loops) {
      hoist(loop);
      while (std::optional<Accumulation> found = findAccumulation(loop))
        loop = reduceAfter(loop, *found);
    }
  }

private:
  /// Takes bytes from the budget; returns false if it has too few.
  bool mayUse(int64_t bytes) {
    if (bytes > allowance)
      return false;
    allowance -= std::max<int64_t>(bytes, 0);
    return true;
  }

  /// Hoists collectives of loop-invariant values.
  void hoist(stablehlo::WhileOp loop) {
    for (Operation &op : llvm::make_early_inc_range(loop.getBody().front())) {
      if (!keyOf(&op) ||
          !llvm::all_of(op.getOperands(), [&](Value operand) { return isOutside(loop, operand); }))
        continue;
      if (!mayUse(resultBytes(&op))) {
        TILEWRIGHT_LOG(getArgument(), &op, "stays in its loop: its result of ", resultBytes(&op),
                       " bytes exceeds the memory limit");
        continue;
      }
      TILEWRIGHT_LOG(getArgument(), &op, "moves in front of its loop: its operands do not change");
      op.moveBefore(loop);
    }
  }

  static int64_t bytesOf(TypeRange types) {
    int64_t sum = 0;
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.hasStaticShape())
        sum += tensor.getNumElements() *
               std::max<int64_t>(isa<ComplexType>(tensor.getElementType())
                                     ? 16
                                     : tensor.getElementType().getIntOrFloatBitWidth() / 8,
                                 1);
    return sum;
  }
  static int64_t resultBytes(Operation *op) { return bytesOf(op->getResultTypes()); }

  /// A carried value to which the body only adds reductions, or into which it only stores them.
  std::optional<Accumulation> findAccumulation(stablehlo::WhileOp loop) {
    Block &body = loop.getBody().front();
    for (unsigned i = 0; i < loop->getNumOperands(); ++i) {
      BlockArgument state = body.getArgument(i);
      Value next = body.getTerminator()->getOperand(i);
      Operation *last = next.getDefiningOp();
      if (!last || !state.hasOneUse() || !next.hasOneUse() || last->getBlock() != &body ||
          !loop.getCond().front().getArgument(i).use_empty())
        continue;
      Value reduced;
      if (auto add = dyn_cast<stablehlo::AddOp>(last))
        reduced = add.getLhs() == state   ? add.getRhs()
                  : add.getRhs() == state ? add.getLhs()
                                          : Value();
      else if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(last))
        reduced = update.getOperand() == state && isZero(loop->getOperand(i)) ? update.getUpdate()
                                                                              : Value();
      Operation *reduction = reduced ? reduced.getDefiningOp() : nullptr;
      if (!isa_and_present<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(reduction) ||
          reduction->getNumResults() != 1 || !reduced.hasOneUse() || reduction->getBlock() != &body)
        continue;
      const std::optional<CollectiveKey> key = keyOf(reduction);
      if (!key || key->reduction != stablehlo::AddOp::getOperationName() ||
          isa<ComplexType>(key->element))
        continue;
      // The sum after the loop adds what the ranks stored at the same place, so all of them must
      // have stored the same iteration there.
      if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(last);
          update && !llvm::all_of(update.getStartIndices(), isSameOnAllRanks)) {
        TILEWRIGHT_LOG(getArgument(), reduction,
                       "stays in its loop: ranks may store its results at different indices");
        continue;
      }
      // Collect slices only while latency dominates: larger ones overlap better with the loop's
      // computation, one at a time. The initial value is zero, and so is its sum.
      if (isa<stablehlo::DynamicUpdateSliceOp>(last) &&
          (!isa<stablehlo::AllReduceOp>(reduction) ||
           static_cast<double>(operandBytes(reduction)) > link->latency * link->bytesPerNano))
        continue;
      // The loop accumulates the operand, which is larger than the result of a reduce_scatter.
      if (!mayUse(operandBytes(reduction) - resultBytes(reduction)))
        continue;
      return Accumulation{i, reduction, last};
    }
    return std::nullopt;
  }

  /// Accumulates the operands in the loop and reduces once, after it.
  stablehlo::WhileOp reduceAfter(stablehlo::WhileOp loop, const Accumulation &found) {
    TILEWRIGHT_LOG(getArgument(), found.reduction,
                   "runs once, after its loop: the loop only accumulates its results");
    const bool isSum = isa<stablehlo::AddOp>(found.last);
    Operation *reduction = found.reduction;
    const Value operand = reduction->getOperand(0);
    const Value init = loop->getOperand(found.state);
    const Location location = found.last->getLoc();
    OpBuilder builder(loop);
    unsigned state = found.state;
    if (isSum) {
      Value zeros = zerosOf(builder, location, operand.getType());
      if (operand.getType() == init.getType()) {
        loop->setOperand(state, zeros);
      } else {
        // The operand and the result of a reduce_scatter have different shapes.
        loop = addState(loop, zeros);
        state = loop->getNumOperands() - 1;
      }
    }
    Block &body = loop.getBody().front();
    builder.setInsertionPoint(found.last);
    Value next;
    if (isSum) {
      next = stablehlo::AddOp::create(builder, location, operand.getType(), body.getArgument(state),
                                      operand);
    } else {
      IRMapping mapping;
      mapping.map(reduction->getResult(0), operand);
      next = builder.clone(*found.last, mapping)->getResult(0);
    }
    body.getTerminator()->setOperand(found.state, body.getArgument(found.state));
    body.getTerminator()->setOperand(state, next);

    builder.setInsertionPointAfter(loop);
    IRMapping mapping;
    mapping.map(operand, loop->getResult(state));
    Operation *after = builder.clone(*reduction, mapping);
    if (!isSum)
      after->getResult(0).setType(loop->getResult(state).getType());
    Value result = after->getResult(0);
    if (isSum)
      result = stablehlo::AddOp::create(builder, location, init.getType(), init, result);
    loop->getResult(found.state).replaceAllUsesExcept(result, after);
    found.last->erase();
    reduction->erase();
    return loop;
  }

  int64_t allowance = 0;
  std::optional<transform::Link> link;
};

} // namespace
} // namespace tilewright::communicate
