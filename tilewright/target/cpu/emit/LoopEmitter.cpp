#include "tilewright/target/cpu/emit/LoopEmitter.h"

#include "mlir/IR/AffineMap.h"

using namespace llvm;

namespace tilewright::cpu {

void LoopEmitter::emit() {
  if (emitTransposed())
    return;
  mlir::MLIRContext *context = kernel.kernel.getContext();
  sizes.assign(group.shape.begin(), group.shape.end());
  base = mlir::AffineMap::getMultiDimIdentityMap(sizes.size(), context);
  splitDimensions();
  joinShortDimension();
  boundLoops();
  for (const Root &root : group.roots) {
    if (!root.op) {
      if (!targets.count(root.kept))
        targets[root.kept] = kernel.newHome(root.kept);
    } else if (isa<tile::ReduceOp, tile::ScanOp, tile::DotOp>(root.op)) {
      for (mlir::Value result : root.op->getResults())
        targets[result] = kernel.newHome(result);
    }
  }
  chooseLoops();

  // All code is inserted before one anchor instruction. If the insertion point is the end of the
  // block, append a temporary anchor.
  BasicBlock *block = b.ir.GetInsertBlock();
  Instruction *end = nullptr;
  if (b.ir.GetInsertPoint() == block->end())
    end = b.ir.CreateUnreachable();
  Instruction *anchor = end ? end : &*b.ir.GetInsertPoint();
  levels.assign(loops.size() + 1, {});
  memoKeys.assign(loops.size() + 1, {});
  levels[0].before = anchor;

  Value *isWanted = nullptr;
  at(0);
  for (Loop &loop : loops) {
    if (!loop.bound)
      continue;
    Value *some = b.ir.CreateICmpSGT(loop.bound, b.i64(0));
    isWanted = isWanted ? b.ir.CreateAnd(isWanted, some) : some;
  }
  if (isWanted) {
    // Branch around the nest, because hoisted code must not run if the loops have no iterations.
    BasicBlock *before = anchor->getParent();
    BasicBlock *after = before->splitBasicBlock(anchor);
    BasicBlock *inside = BasicBlock::Create(b.ir.getContext(), "", before->getParent(), after);
    before->getTerminator()->eraseFromParent();
    b.ir.SetInsertPoint(before);
    b.ir.CreateCondBr(isWanted, inside, after);
    b.ir.SetInsertPoint(inside);
    levels[0].before = b.ir.CreateBr(after);
  }

  emitNest(0);
  for (auto &[tile, home] : targets)
    kernel.homes[tile] = home;

  if (end) {
    BasicBlock *last = end->getParent();
    end->eraseFromParent();
    b.ir.SetInsertPoint(last);
  } else {
    b.ir.SetInsertPoint(anchor);
  }
  double items = 1;
  for (int64_t size : sizes)
    items *= double(size);
  // Assume about two vector operations per cycle at 3 GHz.
  kernel.nanoseconds +=
      kernel.repeats * items / vectorLanes * double(bodyCost() + 2) * (vectorLanes / 16.0 + 1) / 6;
}

void LoopEmitter::emitNest(unsigned position) {
  bool startsCombining = position == keptLoops && hasAccumulators();
  if (startsCombining)
    startAccumulators();
  if (position == loops.size()) {
    currentLevel = position;
    emitBody();
  } else if (loops[position].isOutside) {
    levels[position + 1].before = levels[position].before;
    emitNest(position + 1);
  } else if (Loop &loop = loops[position]; rowBlocks == position) {
    emitLoop(position, b.i64(0), b.i64(loop.size), blockRows);
  } else if (rowBlocks && loop.isReduced) {
    at(position);
    Value *left = b.ir.CreateSub(b.i64(loop.size), loops[*rowBlocks].iv);
    emitLoop(position, b.i64(0),
             loop.size % blockRows == 0
                 ? b.i64(blockRows)
                 : b.ir.CreateBinaryIntrinsic(Intrinsic::smin, left, b.i64(blockRows)),
             1);
  } else if (!loop.isVector) {
    emitLoop(position, b.i64(0), loop.bound ? loop.bound : b.i64(loop.size), 1);
  } else {
    int64_t lanes = vectorLanes, whole = loop.size / lanes * lanes;
    if (loop.bound || isMaskedLoop) {
      isMasked = true;
      emitLoop(position, b.i64(0), loop.bound ? loop.bound : b.i64(loop.size), lanes);
      isMasked = false;
    } else {
      if (whole)
        emitLoop(position, b.i64(0), b.i64(whole), lanes);
      if (whole != loop.size) {
        // Process the remainder in one masked step.
        loop.iv = b.i64(whole);
        laneMask = b.firstLanes(static_cast<unsigned>(loop.size - whole), vectorLanes);
        levels[position + 1].before = levels[position].before;
        emitNest(position + 1);
        forget(position + 1);
        laneMask = nullptr;
      }
    }
  }
  if (startsCombining)
    finishAccumulators();
}

/// Emits a loop with at least one iteration around emitNest(position + 1).
void LoopEmitter::emitLoop(unsigned position, Value *lower, Value *upper, int64_t step) {
  Loop &loop = loops[position];
  Instruction *anchor = levels[position].before;
  auto enter = [&] {
    if (isMasked && loop.isVector) {
      at(position + 1);
      // Compare in 32 bits, which needs half as many vectors as 64.
      Value *left = b.ir.CreateBinaryIntrinsic(Intrinsic::smin, b.ir.CreateSub(upper, loop.iv),
                                               b.i64(int64_t(vectorLanes)));
      Type *narrow = b.vectorOf(b.ir.getInt32Ty(), vectorLanes);
      laneMask =
          b.ir.CreateICmpSLT(b.ir.CreateTrunc(b.laneNumbers(vectorLanes), narrow),
                             b.splat(b.ir.CreateTrunc(left, b.ir.getInt32Ty()), vectorLanes));
    }
    emitNest(position + 1);
    if (isMasked && loop.isVector)
      laneMask = nullptr;
    forget(position + 1);
  };
  auto *known = dyn_cast<ConstantInt>(upper);
  if (known && known->getSExtValue() <= step) {
    loop.iv = lower;
    levels[position + 1].before = anchor;
    enter();
    return;
  }
  BasicBlock *before = anchor->getParent();
  BasicBlock *after = before->splitBasicBlock(anchor);
  BasicBlock *body = BasicBlock::Create(b.ir.getContext(), "", before->getParent(), after);
  before->getTerminator()->eraseFromParent();
  b.ir.SetInsertPoint(before);
  // Enclosing levels that emit no loop have the same anchor; move it for all of them.
  Instruction *entry = b.ir.CreateBr(body);
  unsigned outermost = position;
  while (outermost > 0 && levels[outermost - 1].before == anchor)
    --outermost;
  for (unsigned level = outermost; level <= position; ++level)
    levels[level].before = entry;
  b.ir.SetInsertPoint(body);
  PHINode *iv = b.ir.CreatePHI(b.ir.getInt64Ty(), 2);
  auto *next = cast<Instruction>(b.ir.CreateAdd(iv, b.i64(step), "", true, true));
  b.ir.CreateCondBr(b.ir.CreateICmpSLT(next, upper), body, after);
  loop.iv = iv;
  levels[position + 1].before = next;
  enter();
  iv->addIncoming(lower, entry->getParent());
  iv->addIncoming(next, next->getParent());
  for (unsigned level = outermost; level <= position; ++level)
    levels[level].before = anchor;
}

void LoopEmitter::emitBody() {
  mlir::MLIRContext *context = kernel.kernel.getContext();
  mlir::AffineMap identity =
      composed(mlir::AffineMap::getMultiDimIdentityMap(group.shape.size(), context));
  // An output may alias an input, so read everything before writing anything.
  SmallVector<std::pair<tile::StoreOp, Lanes>> stores;
  for (const Root &root : group.roots) {
    if (!root.op) {
      Element element = evaluate(root.kept, identity, /*ignoreHome=*/true);
      Home &home = targets[root.kept];
      if (!home.buffer) {
        home.element = element.lanes;
        continue;
      }
      storeTo(home.buffer, bufferAccess(root.kept, identity), widened(element));
    } else if (auto store = dyn_cast<tile::StoreOp>(root.op)) {
      stores.push_back({store, widened(evaluate(store.getTile(), identity))});
    } else {
      accumulate(root);
    }
  }
  for (auto &[store, value] : stores)
    storeTo(kernel.pointerTo(store.getTarget()), storeAccess(store, identity), value,
            kernel.streamed.contains(store.getTarget()));
}

} // namespace tilewright::cpu
