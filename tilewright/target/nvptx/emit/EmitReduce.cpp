// Reductions: a tree over registers, shuffles across lanes, shared memory across warps.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;
namespace arith = mlir::arith;

KernelEmitter::Partial KernelEmitter::combine(mlir::Block &combiner, const Partial &first,
                                              const Partial &second) {
  SmallVector<Lanes> arguments(first.values.begin(), first.values.end());
  append_range(arguments, second.values);
  Partial result;
  result.values = lanes::emitBlock(b, combiner, arguments, 1);
  // If one side is invalid, the other is the result.
  for (auto [value, x, y] : zip_equal(result.values, first.values, second.values)) {
    if (second.valid)
      value = b.select(second.valid, value, x);
    if (first.valid)
      value = b.select(first.valid, value, y);
  }
  if (first.valid && second.valid)
    result.valid = b.ir.CreateOr(first.valid, second.valid);
  return result;
}

/// The op of a combiner that consists of a single op on its two arguments, otherwise null.
static mlir::Operation *singleOp(mlir::Block &combiner) {
  if (combiner.getNumArguments() != 2 || !llvm::hasNItems(combiner, 2))
    return nullptr;
  mlir::Operation *op = &combiner.front();
  bool isPlain = op->getNumOperands() == 2 && op->getNumResults() == 1 &&
                 llvm::is_contained(op->getOperands(), combiner.getArgument(0)) &&
                 llvm::is_contained(op->getOperands(), combiner.getArgument(1)) &&
                 combiner.getTerminator()->getOperand(0) == op->getResult(0);
  return isPlain ? op : nullptr;
}

/// Whether swapping the operands always gives the same bits.
static bool isCommutative(mlir::Block &combiner) {
  mlir::Operation *op = singleOp(combiner);
  return op &&
         isa<arith::AddFOp, arith::MulFOp, arith::AddIOp, arith::MulIOp, arith::AndIOp,
             arith::OrIOp, arith::XOrIOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op);
}

/// The identity element of the combiner, if known.
static Value *neutralOf(LaneBuilder &b, mlir::Block &combiner) {
  mlir::Operation *op = singleOp(combiner);
  if (!op)
    return nullptr;
  Type *type = b.computeType(op->getResult(0).getType());
  auto real = [&](double value) { return ConstantFP::get(type, value); };
  auto integer = [&](APInt value) { return ConstantInt::get(b.ir.getContext(), value); };
  const unsigned bits = type->getPrimitiveSizeInBits();
  if (isa<arith::AddFOp>(op))
    return real(-0.0);
  if (isa<arith::MulFOp>(op))
    return real(1.0);
  if (isa<arith::MaximumFOp>(op))
    return real(-HUGE_VAL);
  if (isa<arith::MinimumFOp>(op))
    return real(HUGE_VAL);
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    return integer(APInt::getZero(bits));
  if (isa<arith::MulIOp>(op))
    return integer(APInt(bits, 1));
  if (isa<arith::AndIOp, arith::MinUIOp>(op))
    return integer(APInt::getAllOnes(bits));
  if (isa<arith::MaxSIOp>(op))
    return integer(APInt::getSignedMinValue(bits));
  if (isa<arith::MinSIOp>(op))
    return integer(APInt::getSignedMaxValue(bits));
  return nullptr;
}

KernelEmitter::Partial KernelEmitter::partialOf(mlir::ValueRange inputs,
                                                const ThreadLayout &threads,
                                                ArrayRef<int64_t> shape, unsigned reg) {
  Partial partial;
  for (mlir::Value input : inputs)
    partial.values.push_back(tiles[input][reg]);
  StridedView nowhere{};
  partial.valid =
      threads.isDead(reg, shape) ? b.ir.getFalse() : isInside(threads, nowhere, shape, reg);
  return partial;
}

void KernelEmitter::emitReduce(tile::ReduceOp reduce) {
  auto type = cast<mlir::RankedTensorType>(reduce.getInputs().front().getType());
  const ThreadLayout &threads = threadsOf(type);
  const ThreadLayout &results = threadsOf(reduce.getResultTypes().front());
  mlir::Block &combiner = reduce.getCombiner().front();
  Value *neutral = neutralOf(b, combiner);
  const bool anyOrder = isCommutative(combiner);

  SmallVector<size_t> kept;
  for (size_t dim = 0; dim < size_t(type.getRank()); ++dim)
    if (!is_contained(reduce.getDims(), int64_t(dim)))
      kept.push_back(dim);
  std::map<std::vector<int64_t>, unsigned> resultAt;
  for (unsigned reg = 0; reg < results.registers(); ++reg) {
    std::vector<int64_t> index;
    for (size_t dim = 0; dim < kept.size(); ++dim)
      index.push_back(results.constant(dim, reg));
    resultAt.try_emplace(std::move(index), reg);
  }

  // Collect the registers that contribute to each result; copies of an element count once.
  SmallVector<SmallVector<Partial>> members(results.registers());
  std::map<std::vector<int64_t>, unsigned> seen;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    std::vector<int64_t> whole, index;
    for (size_t dim = 0; dim < size_t(type.getRank()); ++dim)
      whole.push_back(threads.constant(dim, reg));
    for (size_t dim : kept)
      index.push_back(whole[dim]);
    if (threads.isDead(reg, type.getShape()) || !seen.try_emplace(std::move(whole), reg).second)
      continue;
    auto result = resultAt.find(index);
    if (result == resultAt.end())
      return refuse(
          reduce, "must have a result with the layout of its input without the reduced dimensions");
    Partial partial = partialOf(reduce.getInputs(), threads, type.getShape(), reg);
    if (partial.valid && neutral) {
      partial.values[0].value = b.ir.CreateSelect(partial.valid, partial.values[0].value, neutral);
      partial.valid = nullptr;
    }
    members[result->second].push_back(std::move(partial));
  }

  SmallVector<sm::IndexTerm> warpDigits, keptLanes, lanesOf;
  for (size_t dim = 0; dim < size_t(type.getRank()); ++dim) {
    const bool stays = is_contained(kept, dim);
    append_range(stays ? keptLanes : lanesOf, threads.digits(dim, Axis::lane));
    if (!stays)
      append_range(warpDigits, threads.digits(dim, Axis::warp));
  }
  SmallVector<unsigned> alive;
  SmallVector<Partial> partials;
  for (unsigned reg = 0; reg < results.registers(); ++reg) {
    SmallVector<Partial> level = std::move(members[reg]);
    if (level.empty())
      continue;
    while (level.size() > 1) {
      SmallVector<Partial> next;
      for (size_t i = 0; i + 1 < level.size(); i += 2)
        next.push_back(combine(combiner, level[i], level[i + 1]));
      if (level.size() % 2)
        next.push_back(level.back());
      level = std::move(next);
    }
    alive.push_back(reg);
    partials.push_back(std::move(level.front()));
  }
  // Butterfly reduction over lanes: after each round, both partners hold the same value.
  for (const sm::IndexTerm &term : lanesOf)
    for (int64_t half = 1; half < term.size; half *= 2) {
      const int64_t mask = term.stride * half;
      for (Partial &mine : partials) {
        Partial other = shuffled(mine, [&](Lanes value) { return shuffleXor(value, mask); });
        if (anyOrder) {
          mine = combine(combiner, mine, other);
          continue;
        }
        // Put the lower lane's value first in both lanes, so that copies of a result are bitwise
        // equal.
        Value *isUpper = b.ir.CreateICmpNE(b.ir.CreateAnd(thread, i32(mask)), i32(0));
        Partial first = mine, second = other;
        for (auto [x, y] : zip_equal(first.values, second.values)) {
          Lanes low = b.select(isUpper, y, x), high = b.select(isUpper, x, y);
          x = low, y = high;
        }
        if (mine.valid) {
          first.valid = b.ir.CreateSelect(isUpper, other.valid, mine.valid);
          second.valid = b.ir.CreateSelect(isUpper, mine.valid, other.valid);
        }
        mine = combine(combiner, first, second);
      }
    }
  if (!warpDigits.empty() && !partials.empty()) {
    auto all = exchangeWarps(partials, threads, warpDigits, keptLanes, reduce);
    for (auto [mine, parts] : zip_equal(partials, all)) {
      mine = parts.front();
      for (const Partial &part : ArrayRef(parts).drop_front())
        mine = combine(combiner, mine, part);
    }
  }

  Partial init;
  for (mlir::Value value : reduce.getInits())
    init.values.push_back(scalars.lookup(value));
  SmallVector<Tile> made;
  for (mlir::Value result : reduce.getResults())
    made.push_back(Tile(results.registers(), poison(mlir::getElementTypeOrSelf(result))));
  for (auto [reg, partial] : zip_equal(alive, partials)) {
    Partial whole = combine(combiner, init, partial);
    for (auto [tile, value] : zip_equal(made, whole.values))
      tile[reg] = value;
  }
  for (auto [result, tile] : zip_equal(reduce.getResults(), made))
    tiles[result] = std::move(tile);
}

} // namespace tilewright::nvptx
