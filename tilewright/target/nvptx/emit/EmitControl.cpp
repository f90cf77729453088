// Loops and branches: carries scalars, tiles and buffers through blocks as phis.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

using namespace llvm;

namespace tilewright::nvptx {

/// Flattens scalars, tiles and buffers into a list of values, for the phis of a loop.
struct KernelEmitter::LoopValues {
  KernelEmitter &emitter;

  SmallVector<Value *> flatten(mlir::ValueRange values);
  /// Sets `to` from the flat list; the values have the types and register counts of `like`.
  void assign(mlir::ValueRange to, mlir::ValueRange like, ArrayRef<Value *> flat);
};

SmallVector<Value *> KernelEmitter::LoopValues::flatten(mlir::ValueRange values) {
  SmallVector<Value *> flat;
  auto add = [&](Lanes lanes) {
    flat.push_back(lanes.value);
    if (lanes.imag)
      flat.push_back(lanes.imag);
  };
  for (mlir::Value value : values)
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
                                       ArrayRef<Value *> flat) {
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
  IRBuilder<> &ir = b.ir;
  LoopValues values{*this};
  Value *lower = scalars.lookup(loop.getLowerBound()).value;
  Value *upper = scalars.lookup(loop.getUpperBound()).value;
  Value *step = scalars.lookup(loop.getStep()).value;
  // A loop counter with small constant bounds needs only one 32-bit register.
  auto isShort = [](Value *value) {
    auto *constant = dyn_cast<ConstantInt>(value);
    return constant && constant->getValue().isSignedIntN(30);
  };
  Type *index = lower->getType();
  if (isShort(lower) && isShort(upper) && isShort(step) && !cast<ConstantInt>(lower)->isNegative())
    for (Value **bound : {&lower, &upper, &step})
      *bound = ir.CreateTrunc(*bound, ir.getInt32Ty());
  SmallVector<Value *> inits = values.flatten(loop.getInitArgs());

  BasicBlock *before = ir.GetInsertBlock();
  BasicBlock *body = BasicBlock::Create(ir.getContext(), "", function);
  BasicBlock *after = BasicBlock::Create(ir.getContext(), "", function);
  ir.CreateCondBr(ir.CreateICmpSLT(lower, upper), body, after);
  ir.SetInsertPoint(body);
  PHINode *iv = ir.CreatePHI(lower->getType(), 2);
  iv->addIncoming(lower, before);
  SmallVector<PHINode *> carried;
  for (Value *init : inits) {
    carried.push_back(ir.CreatePHI(init->getType(), 2));
    carried.back()->addIncoming(init, before);
  }
  scalars[loop.getInductionVar()] = {ir.CreateZExt(iv, index, "", /*IsNonNeg=*/true)};
  for (auto [argument, init] : zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (inFlight.contains(init))
      inFlight.insert(argument);
  values.assign(loop.getRegionIterArgs(), loop.getInitArgs(), to_vector_of<Value *>(carried));
  // Threads may still be reading shared memory from the previous iteration.
  const bool readBefore = mayBeRead;
  mayBeRead = true;
  const SmallVector<int64_t> filledBefore = beginOwnLoop(loop);
  emitOps(*loop.getBody());
  if (!b.failure.isOk())
    return;
  endOwnLoop(loop, filledBefore);
  mayBeRead |= readBefore;
  SmallVector<Value *> yielded = values.flatten(loop.getBody()->getTerminator()->getOperands());
  Value *next = ir.CreateAdd(iv, step, "", false, true);
  BasicBlock *last = ir.GetInsertBlock();
  iv->addIncoming(next, last);
  for (auto [phi, value] : zip_equal(carried, yielded))
    phi->addIncoming(value, last);
  ir.CreateCondBr(ir.CreateICmpSLT(next, upper), body, after);
  ir.SetInsertPoint(after);
  SmallVector<Value *> results;
  for (auto [init, value] : zip_equal(inits, yielded)) {
    PHINode *phi = ir.CreatePHI(init->getType(), 2);
    phi->addIncoming(init, before);
    phi->addIncoming(value, last);
    results.push_back(phi);
  }
  values.assign(loop.getResults(), loop.getInitArgs(), results);
  for (auto [result, value] :
       zip_equal(loop.getResults(), loop.getBody()->getTerminator()->getOperands()))
    if (inFlight.contains(value))
      inFlight.insert(result);
}

void KernelEmitter::emitIf(mlir::scf::IfOp branch) {
  IRBuilder<> &ir = b.ir;
  struct BranchResult {
    BasicBlock *last;
    SmallVector<Tile> tiles;
    SmallVector<Lanes> scalars;
    bool mayBeRead;
  };
  BasicBlock *before = ir.GetInsertBlock();
  BasicBlock *after = BasicBlock::Create(ir.getContext(), "", function);
  const bool readBefore = mayBeRead;
  auto emitBranch = [&](mlir::Region &region, BasicBlock *&entry) -> BranchResult {
    BranchResult result;
    mayBeRead = readBefore;
    if (region.empty()) {
      entry = after;
      result.last = before;
      result.mayBeRead = mayBeRead;
      return result;
    }
    entry = BasicBlock::Create(ir.getContext(), "", function);
    ir.SetInsertPoint(entry);
    emitOps(region.front());
    for (mlir::Value value : region.front().getTerminator()->getOperands())
      if (isa<mlir::RankedTensorType>(value.getType()))
        result.tiles.push_back(tiles[value]);
      else
        result.scalars.push_back(scalars.lookup(value));
    result.last = ir.GetInsertBlock();
    result.mayBeRead = mayBeRead;
    ir.CreateBr(after);
    return result;
  };
  BasicBlock *thenEntry, *elseEntry;
  BranchResult then = emitBranch(branch.getThenRegion(), thenEntry);
  BranchResult otherwise = emitBranch(branch.getElseRegion(), elseEntry);
  if (!b.failure.isOk())
    return;
  ir.SetInsertPoint(before);
  ir.CreateCondBr(scalars.lookup(branch.getCondition()).value, thenEntry, elseEntry);
  ir.SetInsertPoint(after);
  mayBeRead = then.mayBeRead || otherwise.mayBeRead;
  auto join = [&](Value *x, Value *y) -> Value * {
    if (!x)
      return nullptr;
    PHINode *phi = ir.CreatePHI(x->getType(), 2);
    phi->addIncoming(x, then.last);
    phi->addIncoming(y, otherwise.last);
    return phi;
  };
  size_t tile = 0, scalar = 0;
  for (mlir::Value result : branch.getResults()) {
    if (!isa<mlir::RankedTensorType>(result.getType())) {
      Lanes x = then.scalars[scalar], y = otherwise.scalars[scalar++];
      scalars[result] = {join(x.value, y.value), join(x.imag, y.imag)};
      continue;
    }
    Tile joined;
    for (auto [x, y] : zip_equal(then.tiles[tile], otherwise.tiles[tile]))
      joined.push_back({join(x.value, y.value), join(x.imag, y.imag)});
    ++tile;
    tiles[result] = std::move(joined);
  }
}

} // namespace tilewright::nvptx
