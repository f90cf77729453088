// Loops and branches: carries scalars, tiles and buffers through blocks as phis.
#include "tilewright/target/nvptx/lower/KernelEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace llvm;

namespace tilewright::nvptx {

/// Flattens scalars, tiles and buffers into a list of values, for the phis of a loop.
struct KernelEmitter::LoopValues {
  KernelEmitter &emitter;

  SmallVector<Value> flatten(mlir::ValueRange values);
  /// Sets `to` from the flat list; the values have the types and register counts of `like`.
  void assign(mlir::ValueRange to, mlir::ValueRange like, ArrayRef<Value> flat);
};

SmallVector<Value> KernelEmitter::LoopValues::flatten(mlir::ValueRange values) {
  SmallVector<Value> flat;
  auto add = [&](Lanes lanes) {
    flat.push_back(lanes.value);
    if (lanes.imag)
      flat.push_back(lanes.imag);
  };
  for (Value value : values)
    if (isa<mlir::RankedTensorType>(value.getType()))
      for (Lanes lanes : emitter.tiles[value])
        add(lanes);
    else if (isa<sm::BufferType>(value.getType()))
      add({emitter.buffers[value].address, emitter.buffers[value].barrier});
    else
      add(emitter.scalars.lookup(value));
  return flat;
}

void KernelEmitter::LoopValues::assign(mlir::ValueRange to, mlir::ValueRange like,
                                       ArrayRef<Value> flat) {
  size_t at = 0;
  auto next = [&](Lanes old) {
    Lanes result{flat[at++]};
    if (old.imag)
      result.imag = flat[at++];
    return result;
  };
  for (auto [value, model] : zip_equal(to, like))
    if (isa<mlir::RankedTensorType>(model.getType())) {
      Tile tile;
      for (Lanes old : Tile(emitter.tiles[model]))
        tile.push_back(next(old));
      emitter.tiles[value] = std::move(tile);
      if (emitter.wordTiles.contains(model))
        emitter.wordTiles.insert(value);
    } else if (isa<sm::BufferType>(model.getType())) {
      const SlotBuffer old = emitter.buffers[model];
      Lanes carried = next({old.address, old.barrier});
      emitter.buffers[value] = {carried.value, carried.imag};
    } else {
      emitter.scalars[value] = next(emitter.scalars.lookup(model));
    }
}

void KernelEmitter::emitFor(mlir::scf::ForOp loop) {
  LoopValues values{*this};
  Value lower = scalars.lookup(loop.getLowerBound()).value;
  Value upper = scalars.lookup(loop.getUpperBound()).value;
  Value step = scalars.lookup(loop.getStep()).value;
  // A loop counter with small constant bounds needs only one 32-bit register.
  auto isShort = [](Value bound, int64_t least) {
    APInt number;
    return mlir::matchPattern(bound, mlir::m_ConstantInt(&number)) && number.isSignedIntN(30) &&
           number.getSExtValue() >= least;
  };
  Type index = lower.getType();
  if (isShort(loop.getLowerBound(), 0) && isShort(loop.getUpperBound(), INT64_MIN) &&
      isShort(loop.getStep(), INT64_MIN))
    for (Value *bound : {&lower, &upper, &step})
      *bound = b.trunc(*bound, b.i32Type);
  SmallVector<Value> inits = values.flatten(loop.getInitArgs());

  SmallVector<Type> types = llvm::map_to_vector(inits, [](Value init) { return init.getType(); });
  Block *after = b.newBlock(types);
  types.insert(types.begin(), lower.getType());
  Block *body = b.newBlock(types);
  SmallVector<Value> start(inits);
  start.insert(start.begin(), lower);
  b.branchIf(b.less(lower, upper), body, after, start, inits);
  b.moveTo(body);
  Value iv = body->getArgument(0);
  scalars[loop.getInductionVar()] = {b.zext(iv, index, /*isNonNegative=*/true)};
  for (auto [argument, init] : zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (inFlight.contains(init))
      inFlight.insert(argument);
  values.assign(loop.getRegionIterArgs(), loop.getInitArgs(),
                llvm::to_vector_of<Value>(body->getArguments().drop_front()));
  // Threads may still be reading shared memory from the previous iteration.
  const bool readBefore = mayBeRead;
  mayBeRead = true;
  const SmallVector<int64_t> filledBefore = beginOwnLoop(loop);
  emitOps(*loop.getBody());
  if (!b.failure.isOk())
    return;
  endOwnLoop(loop, filledBefore);
  mayBeRead |= readBefore;
  SmallVector<Value> yielded = values.flatten(loop.getBody()->getTerminator()->getOperands());
  Value next = b.add(iv, step, IntegerOverflowFlags::nsw);
  SmallVector<Value> again(yielded);
  again.insert(again.begin(), next);
  b.branchIf(b.less(next, upper), body, after, again, yielded);
  b.moveTo(after);
  const auto results = llvm::to_vector_of<Value>(after->getArguments());
  values.assign(loop.getResults(), loop.getInitArgs(), results);
  for (auto [result, value] :
       zip_equal(loop.getResults(), loop.getBody()->getTerminator()->getOperands()))
    if (inFlight.contains(value))
      inFlight.insert(result);
}

void KernelEmitter::emitIf(mlir::scf::IfOp branch) {
  LoopValues values{*this};
  Block *before = b.block(), *after = b.newBlock();
  const bool readBefore = mayBeRead;
  bool readAfter = false;
  // Emits one side, which ends with a branch to `after`; returns its first block.
  auto emitSide = [&](mlir::Region &region) -> Block * {
    mayBeRead = readBefore;
    if (region.empty()) {
      readAfter |= mayBeRead;
      return after;
    }
    Block *first = b.newBlock();
    b.moveTo(first);
    emitOps(region.front());
    if (!b.failure.isOk())
      return first;
    const SmallVector<Value> yielded =
        values.flatten(region.front().getTerminator()->getOperands());
    if (after->getNumArguments() == 0)
      for (Value value : yielded)
        after->addArgument(value.getType(), value.getLoc());
    b.branch(after, yielded);
    readAfter |= mayBeRead;
    return first;
  };
  Block *then = emitSide(branch.getThenRegion());
  Block *otherwise = emitSide(branch.getElseRegion());
  if (!b.failure.isOk())
    return;
  b.moveTo(before);
  b.branchIf(scalars.lookup(branch.getCondition()).value, then, otherwise);
  b.moveTo(after);
  mayBeRead = readAfter;
  values.assign(branch.getResults(), branch.getThenRegion().front().getTerminator()->getOperands(),
                llvm::to_vector_of<Value>(after->getArguments()));
}

} // namespace tilewright::nvptx
