// Loops and branches: carries scalars, tiles and buffers through blocks as block arguments.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/dialect/lane/LaneDialect.h"

#include "mlir/IR/Matchers.h"

using namespace llvm;

namespace tilewright::gpu {

/// Flattens scalars, tiles and buffers into a list of values, for the block arguments of a loop.
struct ControlLowering::CarriedValues {
  ControlLowering &group;
  ThreadBuilder &b = group.b;
  /// The values that are carried as words: tiles of small floats as they are in memory, so that
  /// those which are loaded an iteration ahead take no more registers than their bytes.
  SmallVector<bool> areWords = {};

  void chooseWords(mlir::ValueRange inits);
  void addWords(mlir::RankedTensorType type, const Tile &tile, SmallVector<Value> &flat);
  Tile fromWords(mlir::RankedTensorType type, size_t registers, ArrayRef<Value> words);
  SmallVector<Value> flatten(mlir::ValueRange values);
  /// Sets `to` from the flat list; the values have the types and register counts of `like`.
  void assign(mlir::ValueRange to, mlir::ValueRange like, ArrayRef<Value> flat);
};

static unsigned perWord(mlir::RankedTensorType type) { return 32 / type.getElementTypeBitWidth(); }

void ControlLowering::CarriedValues::chooseWords(mlir::ValueRange inits) {
  for (Value init : inits) {
    auto type = dyn_cast<mlir::RankedTensorType>(init.getType());
    areWords.push_back(false);
    if (!type || !isa<mlir::FloatType>(type.getElementType()) ||
        !is_contained({8, 16}, type.getElementTypeBitWidth()))
      continue;
    const Tile &tile = group.kernel.tiles[init];
    areWords.back() = tile.size() % perWord(type) == 0 && all_of(tile, [](Lanes lanes) {
                        return lanes.value.getDefiningOp<lane::DecodeOp>() != nullptr;
                      });
  }
}

void ControlLowering::CarriedValues::addWords(mlir::RankedTensorType type, const Tile &tile,
                                              SmallVector<Value> &flat) {
  const unsigned count = perWord(type);
  Type element = type.getElementType();
  for (size_t first = 0; first < tile.size(); first += count) {
    Value word = b.poisonOf(b.vectorOf(b.storageType(element), count));
    for (unsigned i = 0; i < count; ++i) {
      Value value = tile[first + i].value;
      auto decode = value.getDefiningOp<lane::DecodeOp>();
      word = b.insertElement(word, decode ? decode.getStored() : b.encode(value, element), i);
    }
    flat.push_back(b.bitcast(word, b.i32Type));
  }
}

Tile ControlLowering::CarriedValues::fromWords(mlir::RankedTensorType type, size_t registers,
                                               ArrayRef<Value> words) {
  const unsigned count = perWord(type);
  Type element = type.getElementType();
  Tile tile;
  for (size_t reg = 0; reg < registers; ++reg) {
    Value parts = b.bitcast(words[reg / count], b.vectorOf(b.storageType(element), count));
    tile.push_back({b.decode(b.extractElement(parts, unsigned(reg % count)), element)});
  }
  return tile;
}

SmallVector<Value> ControlLowering::CarriedValues::flatten(mlir::ValueRange values) {
  SmallVector<Value> flat;
  auto add = [&](Lanes lanes) {
    flat.push_back(lanes.value);
    if (lanes.imag)
      flat.push_back(lanes.imag);
  };
  for (auto [number, value] : enumerate(values))
    if (number < areWords.size() && areWords[number])
      addWords(cast<mlir::RankedTensorType>(value.getType()), group.kernel.tiles[value], flat);
    else if (isa<mlir::RankedTensorType>(value.getType()))
      for (Lanes lanes : group.kernel.tiles[value])
        add(lanes);
    else if (isa<sm::BufferType>(value.getType()))
      add({group.kernel.buffers[value].address, group.kernel.buffers[value].barrier});
    else
      add(group.kernel.scalars.lookup(value));
  return flat;
}

void ControlLowering::CarriedValues::assign(mlir::ValueRange to, mlir::ValueRange like,
                                            ArrayRef<Value> flat) {
  size_t at = 0;
  auto next = [&](Lanes old) {
    Lanes result{flat[at++]};
    if (old.imag)
      result.imag = flat[at++];
    return result;
  };
  size_t number = 0;
  for (auto [value, model] : zip_equal(to, like))
    if (const size_t here = number++; here < areWords.size() && areWords[here]) {
      auto type = cast<mlir::RankedTensorType>(model.getType());
      const size_t registers = group.kernel.tiles[model].size(), words = registers / perWord(type);
      group.kernel.tiles[value] = fromWords(type, registers, flat.slice(at, words));
      at += words;
    } else if (isa<mlir::RankedTensorType>(model.getType())) {
      Tile tile;
      for (Lanes old : Tile(group.kernel.tiles[model]))
        tile.push_back(next(old));
      group.kernel.tiles[value] = std::move(tile);
      group.all.copyForm(model, value);
    } else if (isa<sm::BufferType>(model.getType())) {
      const SlotBuffer old = group.kernel.buffers[model];
      Lanes carried = next({old.address, old.barrier});
      group.kernel.buffers[value] = {carried.value, carried.imag};
    } else {
      group.kernel.scalars[value] = next(group.kernel.scalars.lookup(model));
    }
}

void ControlLowering::loop(mlir::scf::ForOp loop) {
  CarriedValues values{*this};
  Value lower = kernel.scalars.lookup(loop.getLowerBound()).value;
  Value upper = kernel.scalars.lookup(loop.getUpperBound()).value;
  Value step = kernel.scalars.lookup(loop.getStep()).value;
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
  values.chooseWords(loop.getInitArgs());
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
  kernel.scalars[loop.getInductionVar()] = {b.zext(iv, index, /*isNonNegative=*/true)};
  for (auto [argument, init] : zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    all.copyFlight(init, argument);
  values.assign(loop.getRegionIterArgs(), loop.getInitArgs(),
                llvm::to_vector_of<Value>(body->getArguments().drop_front()));
  // Threads may still be reading shared memory from the previous iteration.
  const bool readBefore = kernel.mayBeRead;
  kernel.mayBeRead = true;
  const SmallVector<int64_t> filledBefore = all.beginLoop(loop);
  all.lowerOps(*loop.getBody());
  if (!b.failure.isOk())
    return;
  all.endLoop(loop, filledBefore);
  kernel.mayBeRead |= readBefore;
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
    all.copyFlight(value, result);
}

void ControlLowering::branch(mlir::scf::IfOp branch) {
  CarriedValues values{*this};
  Block *before = b.block(), *after = b.newBlock();
  const bool readBefore = kernel.mayBeRead;
  bool readAfter = false;
  // Emits one side, which ends with a branch to `after`; returns its first block.
  auto emitSide = [&](mlir::Region &region) -> Block * {
    kernel.mayBeRead = readBefore;
    if (region.empty()) {
      readAfter |= kernel.mayBeRead;
      return after;
    }
    Block *first = b.newBlock();
    b.moveTo(first);
    all.passBorder(branch);
    all.lowerOps(region.front());
    if (!b.failure.isOk())
      return first;
    // Complete the yielded tiles (wait for wgmma, unpack words): both sides must pass tiles in the
    // same form, and the tiles of the other side may already be complete.
    for (Value value : region.front().getTerminator()->getOperands())
      all.complete(value, region.front().getTerminator());
    const SmallVector<Value> yielded =
        values.flatten(region.front().getTerminator()->getOperands());
    if (after->getNumArguments() == 0)
      for (Value value : yielded)
        after->addArgument(value.getType(), value.getLoc());
    b.branch(after, yielded);
    readAfter |= kernel.mayBeRead;
    return first;
  };
  Block *then = emitSide(branch.getThenRegion());
  Block *otherwise = emitSide(branch.getElseRegion());
  if (!b.failure.isOk())
    return;
  b.moveTo(before);
  b.branchIf(kernel.scalars.lookup(branch.getCondition()).value, then, otherwise);
  b.moveTo(after);
  all.passBorder(branch);
  kernel.mayBeRead = readAfter;
  values.assign(branch.getResults(), branch.getThenRegion().front().getTerminator()->getOperands(),
                llvm::to_vector_of<Value>(after->getArguments()));
}

} // namespace tilewright::gpu
