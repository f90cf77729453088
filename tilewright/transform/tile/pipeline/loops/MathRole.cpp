#include "tilewright/transform/tile/pipeline/loops/MathRole.h"

#include "tilewright/transform/tile/pipeline/Epilogue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::pipeline {

MathRole::MathRole(ProductLoop &products, const LoopPlan &plan, const IRMapping &scalars,
                   const RoleChannels &channels)
    : products(products), plan(plan), scalars(scalars), channels(channels),
      layouts(products, plan.groups) {}

void MathRole::build(sm::RoleOp role) {
  OpBuilder b(role.getBody().front().getTerminator());
  Mapping mapping = scalars;
  buildBlock(b, products.kernel.getBlock(), mapping);
  for (const TakenSlot &slot : taken)
    sm::FreeOp::create(b, role.getLoc(), slot.channel);
}

void MathRole::buildBlock(OpBuilder &b, Block &block, Mapping &mapping) {
  for (Operation &op : block.without_terminator())
    if (op.getNumResults() == 0 || !mapping.contains(op.getResult(0)))
      buildOp(b, &op, mapping);
}

/// Whether a tile stays in shared memory, where only products read it.
static bool isStaged(Operation *op, const ProductLoop &products) {
  while (auto view = dyn_cast_or_null<tile::ViewOp>(op))
    op = view.getSource().getDefiningOp();
  return op && products.loads.contains(op);
}

void MathRole::buildOp(OpBuilder &b, Operation *op, Mapping &mapping) {
  TypeSwitch<Operation *>(op)
      .Case([&](scf::ForOp loop) {
        loop == products.loop ? buildProductLoop(b, mapping) : buildPlainLoop(b, loop, mapping);
      })
      .Case([&](scf::IfOp branch) { buildBranch(b, branch, mapping); })
      .Case([&](tile::DotOp dot) { buildProduct(b, dot, mapping); })
      .Case([&](tile::StoreOp store) { buildStore(b, store, mapping); })
      .Default([&](Operation *) {
        if (auto staged = products.loads.find(op); staged != products.loads.end()) {
          // A load outside of the loop: the role holds the slot until it ends.
          Value channel = channels.staged.lookup(op);
          auto slot = sm::TakeOp::create(b, op->getLoc(), channel);
          mapping.map(op->getResult(0), slot.getResult(0));
          taken.push_back({Value(), channel});
          return;
        }
        if (isStaged(op, products))
          return;
        giveLayouts(op, b.clone(*op, mapping));
        if (auto extract = dyn_cast<tensor::ExtractOp>(op))
          tellNumber(b, extract, mapping);
      });
}

void MathRole::giveLayouts(Operation *op, Operation *copy) {
  for (auto [old, result] : llvm::zip_equal(op->getResults(), copy->getResults()))
    if (isa<RankedTensorType>(old.getType()))
      result.setType(sm::withLayout(old.getType(), layouts.of(old)));
}

/// Sends a number to the load role.
void MathRole::tellNumber(OpBuilder &b, tensor::ExtractOp extract, Mapping &mapping) {
  Value channel = channels.numbers.lookup(extract.getResult());
  if (!channel)
    return;
  Location loc = extract.getLoc();
  auto type = RankedTensorType::get({1}, extract.getType());
  Value tile = tile::ViewOp::create(
      b, loc, sm::withLayout(type, TileLayouts::replicated(1, 4 * plan.groups)),
      mapping.lookup(extract.getTensor()), AffineMap::get(1, 0, b.getContext()));
  auto slot = sm::AcquireOp::create(b, loc, channel);
  sm::CopyOp::create(b, loc, Type(), sm::Engine::st, tile, ValueRange(), slot.getResult(0),
                     ValueRange(), false, DenseI64ArrayAttr());
  sm::PublishOp::create(b, loc, channel);
}

void MathRole::buildStore(OpBuilder &b, tile::StoreOp store, Mapping &mapping) {
  Value tile = mapping.lookup(store.getTile());
  auto type = cast<RankedTensorType>(tile.getType());
  const sm::Layout layout = sm::layoutOf(type).getValue(), wanted = storeLayout(layout, type);
  Mapping operands = mapping;
  if (!wanted.sameAs(layout))
    operands.map(
        store.getTile(),
        sm::ConvertOp::create(b, store.getLoc(), sm::withLayout(type, wanted), tile).getResult());
  b.clone(*store, operands);
}

void MathRole::buildPlainLoop(OpBuilder &b, scf::ForOp loop, Mapping &mapping) {
  SmallVector<unsigned> carried;
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (!products.inTensor.contains(argument))
      carried.push_back(argument.getArgNumber() - loop.getNumInductionVars());
  auto mapped = [&](auto values) {
    SmallVector<Value> all;
    for (unsigned at : carried)
      all.push_back(mapping.lookup(values[at]));
    return all;
  };
  auto copy = scf::ForOp::create(b, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                                 mapping.lookup(loop.getUpperBound()),
                                 mapping.lookup(loop.getStep()), mapped(loop.getInitArgs()));
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [to, from] : llvm::enumerate(carried))
    mapping.map(loop.getRegionIterArg(from), copy.getRegionIterArg(unsigned(to)));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(copy.getBody());
  buildBlock(b, *loop.getBody(), mapping);
  if (!carried.empty())
    scf::YieldOp::create(b, loop.getLoc(), mapped(loop.getYieldedValues()));
  for (auto [to, from] : llvm::enumerate(carried))
    mapping.map(loop.getResult(from), copy.getResult(unsigned(to)));
}

void MathRole::buildBranch(OpBuilder &b, scf::IfOp branch, Mapping &mapping) {
  SmallVector<Type> types;
  for (Value result : branch.getResults())
    types.push_back(isa<RankedTensorType>(result.getType())
                        ? sm::withLayout(result.getType(), layouts.of(result))
                        : result.getType());
  auto copy = scf::IfOp::create(b, branch.getLoc(), types, mapping.lookup(branch.getCondition()),
                                !branch.getElseRegion().empty());
  OpBuilder::InsertionGuard guard(b);
  for (auto [from, to] : llvm::zip_equal(branch->getRegions(), copy->getRegions())) {
    if (from.empty())
      continue;
    if (!to.front().empty())
      to.front().getTerminator()->erase();
    b.setInsertionPointToEnd(&to.front());
    buildBlock(b, from.front(), mapping);
    SmallVector<Value> yields;
    for (Value value : from.front().getTerminator()->getOperands())
      yields.push_back(mapping.lookup(value));
    scf::YieldOp::create(b, branch.getLoc(), yields);
  }
  mapping.map(branch.getResults(), copy.getResults());
}

void MathRole::buildProduct(OpBuilder &b, tile::DotOp dot, Mapping &mapping) {
  Location loc = dot.getLoc();
  Value sides[2] = {nullptr, nullptr};
  for (auto &[op, staged] : products.loads) {
    if (staged.dot != dot)
      continue;
    Value &buffer = sides[staged.isLhs ? 0 : 1];
    if (!products.isInLoop(op)) {
      buffer = mapping.lookup(op->getResult(0));
      continue;
    }
    Value channel = channels.staged.lookup(op);
    buffer = sm::TakeOp::create(b, loc, channel).getResult(0);
    taken.push_back({dot.getResult(), channel});
  }
  if (!sides[0])
    sides[0] = mapping.lookup(dot.getLhs());
  if (dot == turns.first)
    sm::TakeOp::create(b, loc, channels.turn);
  Value acc = isZero(dot.getAcc()) ? Value() : mapping.lookup(dot.getAcc());
  auto mma = sm::MmaOp::create(b, loc, sm::withLayout(dot.getType(), layouts.of(dot)),
                               sm::Atom::wgmma, sides[0], sides[1], acc, Value(), Value());
  mapping.map(dot.getResult(), mma.getResult());
  if (dot == turns.last)
    sm::FreeOp::create(b, loc, channels.turn);
}

void MathRole::freeSlots(OpBuilder &b, Operation *op) {
  scf::ForOp loop = products.loop;
  auto uses = [&](Value product) {
    // The loop may pass the product to the next iteration.
    SmallVector<Value> names{product};
    for (auto [argument, yielded] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (yielded == product)
        names.push_back(argument);
    return op
        ->walk([&](Operation *inner) {
          return !isa<tile::DotOp>(inner) &&
                         llvm::any_of(
                             inner->getOperands(),
                             [&](Value operand) { return llvm::is_contained(names, operand); })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  llvm::erase_if(taken, [&](const TakenSlot &slot) {
    const bool isDone = slot.product && (!op || uses(slot.product));
    if (isDone)
      sm::FreeOp::create(b, slot.product.getLoc(), slot.channel);
    return isDone;
  });
}

// --- The loop of the products ---

int64_t MathRole::stageOf(Operation *op) const {
  for (const LoopPlan::Step &step : plan.steps)
    if (step.op == op)
      return step.stage;
  return -1;
}

/// All operands of an op and of the ops in its regions.
static SmallVector<Value> operandsOf(Operation *op) {
  llvm::SetVector<Value> all;
  op->walk([&](Operation *inner) {
    if (isa<tile::MapOp, tile::ReduceOp>(inner->getParentOp()))
      return;
    for (Value operand : inner->getOperands())
      if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()))
        all.insert(operand);
  });
  return all.takeVector();
}

void MathRole::buildFreeOperands(OpBuilder &b, Operation *op, Mapping &mapping) {
  for (Value operand : operandsOf(op)) {
    Operation *maker = operand.getDefiningOp();
    if (mapping.contains(operand) || !maker || !products.isInLoop(maker) ||
        !isFree(maker, products) || isStaged(maker, products))
      continue;
    buildFreeOperands(b, maker, mapping);
    buildOp(b, maker, mapping);
  }
}

SmallVector<Value> MathRole::crossingValues() {
  scf::ForOp loop = products.loop;
  llvm::SetVector<Value> crossing;
  llvm::DenseSet<Value> seen;
  auto visit = [&](auto &self, Value value) -> void {
    if (!seen.insert(value).second)
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
        crossing.insert(value);
      return;
    }
    Operation *maker = value.getDefiningOp();
    if (!products.isInLoop(maker))
      return;
    if (isFree(maker, products)) {
      if (!isStaged(maker, products))
        for (Value operand : maker->getOperands())
          self(self, operand);
    } else if (stageOf(maker) == 0) {
      crossing.insert(value);
    }
  };
  for (const LoopPlan::Step &step : plan.steps)
    if (step.stage == 1)
      for (Value operand : operandsOf(step.op))
        visit(visit, operand);
  return crossing.takeVector();
}

void MathRole::buildProductLoop(OpBuilder &b, Mapping &mapping) {
  scf::ForOp loop = products.loop;
  Location loc = loop.getLoc();
  Value count = mapping.lookup(loop.getUpperBound());
  APInt constant;
  SmallVector<Value> results;
  if (matchPattern(loop.getUpperBound(), m_ConstantInt(&constant)) && constant.sgt(0)) {
    results = buildRotated(b, mapping, count);
  } else {
    SmallVector<Value> inits;
    for (Value init : loop.getInitArgs())
      inits.push_back(mapping.lookup(init));
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value isAny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, count, zero);
    auto branch = scf::IfOp::create(b, loc, ValueRange(inits).getTypes(), isAny, true);
    OpBuilder::InsertionGuard guard(b);
    for (Block *side : {branch.thenBlock(), branch.elseBlock()}) {
      if (!side->empty())
        side->getTerminator()->erase();
      b.setInsertionPointToEnd(side);
      scf::YieldOp::create(b, loc,
                           side == branch.elseBlock() ? inits : buildRotated(b, mapping, count));
    }
    results = branch.getResults();
  }
  mapping.map(loop.getResults(), results);
}

SmallVector<Value> MathRole::buildRotated(OpBuilder &b, const Mapping &outer, Value count) {
  scf::ForOp loop = products.loop;
  Location loc = loop.getLoc();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto buildStep = [&](const LoopPlan::Step &step, Mapping &mapping) {
    freeSlots(b, step.op);
    buildFreeOperands(b, step.op, mapping);
    buildOp(b, step.op, mapping);
  };
  auto valueIn = [&](Value value, Mapping &mapping) {
    if (Operation *maker = value.getDefiningOp();
        maker && !mapping.contains(value) && isFree(maker, products)) {
      buildFreeOperands(b, maker, mapping);
      buildOp(b, maker, mapping);
    }
    return mapping.lookup(value);
  };
  // A loop-carried value is computed either in stage 0, or in stage 1: then it is computed while
  // the next iteration is in stage 0.
  struct Carried {
    BlockArgument argument;
    Value yielded;
    bool isLate;
  };
  SmallVector<Carried> carried;
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *maker = yielded.getDefiningOp();
    carried.push_back({argument, yielded, maker && stageOf(maker) == 1});
  }
  const SmallVector<Value> crossing = crossingValues();

  // Stage 0 of the first iteration.
  Mapping newest = outer;
  newest.map(loop.getInductionVar(), arith::ConstantIndexOp::create(b, loc, 0).getResult());
  for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    newest.map(argument, outer.lookup(init));
  for (const LoopPlan::Step &step : plan.steps)
    if (step.stage == 0)
      buildStep(step, newest);
  freeSlots(b, nullptr);
  // The loop carries the values that cross from stage 0 to stage 1, and then the loop-carried
  // values that stage 0 computes.
  auto passedOn = [&](Mapping &mapping) {
    SmallVector<Value> all;
    for (Value value : crossing)
      all.push_back(mapping.lookup(value));
    for (const Carried &value : carried)
      if (!value.isLate)
        all.push_back(valueIn(value.yielded, mapping));
    return all;
  };
  // Maps the loop's arguments: values that cross stages in the older iteration, and the others in
  // the newer one.
  auto receive = [&](ValueRange all, Mapping &older, Mapping *next) {
    for (auto [value, arrived] : llvm::zip(crossing, all))
      older.map(value, arrived);
    size_t at = crossing.size();
    for (const Carried &value : carried)
      if (!value.isLate)
        next->map(value.argument, all[at++]);
  };
  auto steady = scf::ForOp::create(b, loc, one, count, one, passedOn(newest));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steady.getBody());
    Mapping older = outer;
    newest = outer;
    newest.map(loop.getInductionVar(), steady.getInductionVar());
    older.map(loop.getInductionVar(),
              arith::SubIOp::create(b, loc, steady.getInductionVar(), one).getResult());
    receive(steady.getRegionIterArgs(), older, &newest);
    if (channels.turn)
      for (const LoopPlan::Step &step : plan.steps)
        if (auto dot = dyn_cast<tile::DotOp>(step.op)) {
          turns.first = turns.first ? turns.first : dot;
          turns.last = dot;
        }
    for (const LoopPlan::Step &step : plan.steps) {
      buildStep(step, step.stage == 0 ? newest : older);
      for (const Carried &value : carried)
        if (value.isLate && value.yielded.getDefiningOp() == step.op)
          newest.map(value.argument, older.lookup(value.yielded));
    }
    freeSlots(b, nullptr);
    turns = {};
    scf::YieldOp::create(b, loc, passedOn(newest));
  }
  // Stage 1 of the last iteration.
  Mapping older = outer, last = outer;
  older.map(loop.getInductionVar(), arith::SubIOp::create(b, loc, count, one).getResult());
  receive(steady.getResults(), older, &last);
  for (const LoopPlan::Step &step : plan.steps)
    if (step.stage == 1)
      buildStep(step, older);
  freeSlots(b, nullptr);
  SmallVector<Value> results;
  for (const Carried &value : carried)
    results.push_back(value.isLate ? older.lookup(value.yielded) : last.lookup(value.argument));
  return results;
}

} // namespace tilewright::pipeline
