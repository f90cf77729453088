// Emits the combining roots of a loop nest: reduce, scan and dot.
#include "tilewright/target/cpu/emit/LoopEmitter.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

using namespace llvm;
namespace arith = mlir::arith;

namespace tilewright::cpu {

static mlir::Block &combinerOf(mlir::Operation *op) { return op->getRegion(0).front(); }

static mlir::ValueRange initsOf(mlir::Operation *op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return reduce.getInits();
  return cast<tile::ScanOp>(op).getInits();
}

/// The identity of a combiner that is a single op on its two arguments; null for other combiners.
static Constant *neutralOf(LaneBuilder &b, mlir::Block &combiner) {
  if (combiner.getNumArguments() != 2 || !llvm::hasNItems(combiner.getOperations(), 2))
    return nullptr;
  mlir::Operation &op = combiner.front();
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
      combiner.getTerminator()->getOperand(0) != op.getResult(0) ||
      !llvm::is_contained(op.getOperands(), combiner.getArgument(0)) ||
      !llvm::is_contained(op.getOperands(), combiner.getArgument(1)))
    return nullptr;
  Type *type = b.computeType(op.getResult(0).getType());
  if (isa<arith::AddFOp>(op))
    return ConstantFP::getNegativeZero(type);
  if (isa<arith::MulFOp>(op))
    return ConstantFP::get(type, 1.0);
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return ConstantFP::getInfinity(type, true);
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    return ConstantFP::getInfinity(type, false);
  if (!type->isIntegerTy())
    return nullptr;
  unsigned width = type->getIntegerBitWidth();
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    return ConstantInt::get(type, 0);
  if (isa<arith::MulIOp>(op))
    return ConstantInt::get(type, 1);
  if (isa<arith::AndIOp, arith::MinUIOp>(op))
    return ConstantInt::get(type, APInt::getAllOnes(width));
  if (isa<arith::MaxSIOp>(op))
    return ConstantInt::get(type, APInt::getSignedMinValue(width));
  if (isa<arith::MinSIOp>(op))
    return ConstantInt::get(type, APInt::getSignedMaxValue(width));
  return nullptr;
}

bool LoopEmitter::hasAccumulators() const {
  return llvm::any_of(group.roots, [](const Root &root) {
    return isa_and_nonnull<tile::ReduceOp, tile::ScanOp, tile::DotOp>(root.op);
  });
}

bool LoopEmitter::vectorIsReduced() const {
  return llvm::any_of(loops, [](const Loop &loop) { return loop.isVector && loop.isReduced; });
}

void LoopEmitter::startAccumulators() {
  accumulators.clear();
  at(keptLoops);
  for (const Root &root : group.roots) {
    if (!root.op || isa<tile::StoreOp>(root.op))
      continue;
    SmallVector<Lanes> start;
    if (auto dot = dyn_cast<tile::DotOp>(root.op)) {
      start.push_back(widened(evaluate(dot.getAcc(), composed(readsOf(root)[2].second))));
    } else {
      Constant *neutral = neutralOf(b, combinerOf(root.op));
      for (mlir::Value init : initsOf(root.op)) {
        Lanes value = kernel.scalars.lookup(init);
        if (vectorIsReduced() && neutral)
          value = {neutral};
        start.push_back(b.splat(value, vectorLanes));
      }
      if (rowBlocks)
        for (auto [value, result] : llvm::zip_equal(start, root.op->getResults())) {
          Access access = bufferAccess(result, resultMap(root));
          const Lanes before = widened(evaluateLoad(targets[result].buffer, access, {}));
          at(keptLoops);
          Value *isFirstBlock = b.ir.CreateICmpEQ(loops[*rowBlocks].iv, b.i64(0));
          value = b.select(isFirstBlock, value, before);
        }
    }
    at(keptLoops);
    SmallVector<Accumulator> slots;
    for (Lanes value : start) {
      Accumulator slot;
      slot.op = root.op;
      slot.value = b.slot(value.value->getType());
      if (value.imag)
        slot.imag = b.slot(value.imag->getType());
      accumulators.push_back(slot);
    }
    storeAccumulators(root, start);
  }
}

SmallVector<Lanes> LoopEmitter::loadAccumulators(const Root &root) {
  SmallVector<Lanes> values;
  for (Accumulator &slot : accumulators) {
    if (slot.op != root.op)
      continue;
    auto load = [&](AllocaInst *from) -> Value * {
      return from ? b.ir.CreateLoad(from->getAllocatedType(), from) : nullptr;
    };
    values.push_back({load(slot.value), load(slot.imag)});
  }
  return values;
}

void LoopEmitter::storeAccumulators(const Root &root, ArrayRef<Lanes> values) {
  size_t next = 0;
  for (Accumulator &slot : accumulators) {
    if (slot.op != root.op)
      continue;
    b.ir.CreateStore(values[next].value, slot.value);
    if (slot.imag)
      b.ir.CreateStore(values[next].imag, slot.imag);
    ++next;
  }
}

/// Whether the current iteration combines the first element.
LoopEmitter::Value *LoopEmitter::isFirst() {
  Value *first = b.ir.getTrue();
  for (Loop &loop : loops)
    if (loop.isReduced)
      first = b.ir.CreateAnd(first, b.ir.CreateICmpEQ(loop.iv, b.i64(0)));
  return first;
}

/// Converts a factor of a dot to the accumulator type.
static Value *factor(LaneBuilder &b, Value *value, mlir::Type from, mlir::Type to) {
  if (isa<mlir::FloatType>(to))
    return b.convertFloat(value, from, to);
  Type *type = b.vectorOf(b.computeType(to), b.lanesOf(value));
  return from.isUnsignedInteger() || from.isInteger(1) ? b.ir.CreateZExtOrTrunc(value, type)
                                                       : b.ir.CreateSExtOrTrunc(value, type);
}

void LoopEmitter::accumulate(const Root &root) {
  SmallVector<std::pair<mlir::Value, mlir::AffineMap>> reads = readsOf(root);
  SmallVector<Lanes> inputs;
  for (auto [number, read] : enumerate(reads)) {
    bool isStart = isa<tile::DotOp>(root.op) && number == 2;
    inputs.push_back(isStart ? Lanes() : widened(evaluate(read.first, composed(read.second))));
  }
  at(currentLevel);
  SmallVector<Lanes> before = loadAccumulators(root);
  SmallVector<Lanes> after;
  if (isa<tile::DotOp>(root.op)) {
    auto typeOf = [&](unsigned read) {
      return mlir::getElementTypeOrSelf(reads[read].first.getType());
    };
    mlir::Type type = typeOf(2);
    if (b.isComplex(type)) {
      Lanes x = inputs[0], y = inputs[1];
      Value *real =
          b.ir.CreateFSub(b.ir.CreateFMul(x.value, y.value), b.ir.CreateFMul(x.imag, y.imag));
      Value *imag =
          b.ir.CreateFAdd(b.ir.CreateFMul(x.value, y.imag), b.ir.CreateFMul(x.imag, y.value));
      after.push_back(
          {b.ir.CreateFAdd(before[0].value, real), b.ir.CreateFAdd(before[0].imag, imag)});
    } else {
      Value *x = factor(b, inputs[0].value, typeOf(0), type);
      Value *y = factor(b, inputs[1].value, typeOf(1), type);
      if (reads.size() > 3) {
        x = b.ir.CreateFMul(x, factor(b, inputs[3].value, typeOf(3), type));
        y = b.ir.CreateFMul(y, factor(b, inputs[4].value, typeOf(4), type));
      }
      after.push_back({isa<mlir::FloatType>(type)
                           ? b.round(b.multiplyAdd(x, y, before[0].value), type)
                           : b.ir.CreateAdd(b.ir.CreateMul(x, y), before[0].value)});
    }
  } else {
    mlir::Block &combiner = combinerOf(root.op);
    SmallVector<Lanes> arguments(before);
    arguments.append(inputs);
    after = llvm::to_vector(lanes::emitBlock(b, combiner, arguments, vectorLanes));
    bool lanesDiffer = vectorIsReduced();
    Value *first = lanesDiffer && !neutralOf(b, combiner) ? isFirst() : nullptr;
    for (auto [number, value] : enumerate(after)) {
      if (first)
        value = b.select(first, inputs[number], value);
      if (lanesDiffer && laneMask)
        value = b.select(laneMask, value, before[number]);
    }
  }
  storeAccumulators(root, after);
  if (isa<tile::ScanOp>(root.op))
    for (auto [result, value] : zip_equal(root.op->getResults(), after)) {
      Home &home = targets[result];
      if (home.buffer)
        storeTo(home.buffer, bufferAccess(result, resultMap(root)), value);
      else
        home.element = value;
    }
}

void LoopEmitter::finishAccumulators() {
  for (const Root &root : group.roots) {
    if (!isa_and_nonnull<tile::ReduceOp, tile::DotOp>(root.op))
      continue;
    at(keptLoops);
    SmallVector<Lanes> values = loadAccumulators(root);
    if (vectorIsReduced()) {
      mlir::Block &combiner = combinerOf(root.op);
      [[maybe_unused]] const size_t count = values.size();
      for (unsigned lanes = vectorLanes; lanes > 1; lanes /= 2) {
        SmallVector<Lanes> arguments;
        for (unsigned half = 0; half < 2; ++half)
          for (Lanes value : values)
            arguments.push_back(b.slice(value, half * lanes / 2, lanes / 2));
        values = llvm::to_vector(lanes::emitBlock(b, combiner, arguments, lanes / 2));
      }
      Constant *neutral = neutralOf(b, combiner);
      SmallVector<Lanes> arguments;
      bool isNeutral = neutral != nullptr;
      for (mlir::Value init : initsOf(root.op)) {
        arguments.push_back(kernel.scalars.lookup(init));
        isNeutral &= arguments.back().value == neutral;
      }
      arguments.append(values);
      if (!isNeutral)
        values = llvm::to_vector(lanes::emitBlock(b, combiner, arguments, 1));
      assert(values.size() == count);
    }
    currentLevel = keptLoops;
    for (auto [result, value] : zip_equal(root.op->getResults(), values)) {
      Home &home = targets[result];
      if (home.buffer)
        storeTo(home.buffer, bufferAccess(result, resultMap(root)), value);
      else
        home.element = value;
    }
  }
}

} // namespace tilewright::cpu
