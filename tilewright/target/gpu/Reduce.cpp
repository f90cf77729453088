// Reductions: a tree over registers, shuffles across lanes, shared memory across warps.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/target/gpu/thread/Shuffle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <map>
#include <set>

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;
namespace arith = mlir::arith;

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
static Value neutralOf(ThreadBuilder &b, mlir::Block &combiner) {
  mlir::Operation *op = singleOp(combiner);
  if (!op)
    return nullptr;
  Type type = b.computeType(op->getResult(0).getType());
  auto real = [&](double value) { return b.real(type, value); };
  auto integer = [&](APInt value) { return b.integer(type, value); };
  const unsigned bits = bitsOf(type);
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

Partial ReductionsLowering::partialOf(mlir::ValueRange inputs, const ThreadLayout &threads,
                                      ArrayRef<int64_t> shape, unsigned reg) {
  Partial partial;
  for (Value input : inputs)
    partial.values.push_back(kernel.tiles[input][reg]);
  StridedView nowhere{};
  partial.valid =
      threads.isDead(reg, shape) ? b.truth(false) : isInside(b, threads, nowhere, shape, reg);
  return partial;
}

struct ReductionsLowering::Reduction {
  ReductionsLowering &group;
  tile::ReduceOp op;
  mlir::RankedTensorType type;
  const ThreadLayout &threads, &results;
  ThreadBuilder &b;
  mlir::Block &combiner;
  SmallVector<size_t> kept; // the dimensions that are not reduced
  /// The result registers that hold elements, and the partial result of each.
  SmallVector<unsigned> alive;
  SmallVector<Partial> partials;

  Reduction(ReductionsLowering &group, tile::ReduceOp op)
      : group(group), op(op), type(cast<mlir::RankedTensorType>(op.getInputs().front().getType())),
        threads(group.kernel.threadsOf(type)),
        results(group.kernel.threadsOf(op.getResultTypes().front())), b(group.b),
        combiner(op.getCombiner().front()) {
    for (size_t dim = 0; dim < size_t(type.getRank()); ++dim)
      if (!is_contained(op.getDims(), int64_t(dim)))
        kept.push_back(dim);
  }

  /// For each result register, the registers that contribute to it. Refuses the op and returns
  /// nullopt if the layouts do not match.
  std::optional<SmallVector<SmallVector<Partial>>> collectRegisters();
  void combineRegisters(ArrayRef<SmallVector<Partial>> members);
  void combineLanes();
  void combineWarps();
  void finish();

  Partial join(const Partial &first, const Partial &second) {
    return combine(b, combiner, first, second);
  }
  Partial joinInLaneOrder(const Partial &mine, const Partial &other, int64_t mask);
};

std::optional<SmallVector<SmallVector<Partial>>> ReductionsLowering::Reduction::collectRegisters() {
  Value neutral = neutralOf(b, combiner);
  std::map<std::vector<int64_t>, unsigned> resultAt;
  for (unsigned reg = 0; reg < results.registers(); ++reg)
    resultAt.try_emplace(results.constants(reg), reg);
  SmallVector<SmallVector<Partial>> members(results.registers());
  std::set<std::vector<int64_t>> seen; // copies of an element count once
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    std::vector<int64_t> whole = threads.constants(reg), index;
    for (size_t dim : kept)
      index.push_back(whole[dim]);
    if (threads.isDead(reg, type.getShape()) || !seen.insert(std::move(whole)).second)
      continue;
    auto result = resultAt.find(index);
    if (result == resultAt.end()) {
      group.kernel.refuse(op, "must have a result whose layout is the input's layout with the "
                              "reduced dimensions removed");
      return std::nullopt;
    }
    Partial partial = group.partialOf(op.getInputs(), threads, type.getShape(), reg);
    if (partial.valid && neutral) {
      partial.values[0].value = b.select(partial.valid, partial.values[0].value, neutral);
      partial.valid = nullptr;
    }
    members[result->second].push_back(std::move(partial));
  }
  return members;
}

void ReductionsLowering::Reduction::combineRegisters(ArrayRef<SmallVector<Partial>> members) {
  // Of a chain of two maxima, some machines make one instruction.
  mlir::Operation *single = singleOp(combiner);
  const bool isMaximum = single && isa<arith::MaximumFOp, arith::MinimumFOp>(single);
  const size_t together = isMaximum && b.machine.limits.hasMaximumOfThree ? 3 : 2;
  for (auto [reg, parts] : enumerate(members)) {
    if (parts.empty())
      continue;
    SmallVector<Partial> level = parts;
    while (level.size() > 1) {
      SmallVector<Partial> next;
      for (size_t i = 0; i < level.size(); i += together) {
        Partial group = level[i];
        for (size_t other = i + 1; other < std::min(i + together, level.size()); ++other)
          group = join(group, level[other]);
        next.push_back(std::move(group));
      }
      level = std::move(next);
    }
    alive.push_back(unsigned(reg));
    partials.push_back(std::move(level.front()));
  }
}

/// Combines the values of two lanes whose ids differ in the bit `mask`. Both lanes pass the lower
/// lane's value as the first operand, so that both get the same bits.
Partial ReductionsLowering::Reduction::joinInLaneOrder(const Partial &mine, const Partial &other,
                                                       int64_t mask) {
  Value isUpper = b.notEqual(b.bitAnd(group.kernel.thread, b.i32(mask)), b.i32(0));
  Partial first = mine, second = other;
  for (auto [x, y] : zip_equal(first.values, second.values)) {
    Lanes low = b.select(isUpper, y, x), high = b.select(isUpper, x, y);
    x = low, y = high;
  }
  if (mine.valid) {
    first.valid = b.select(isUpper, other.valid, mine.valid);
    second.valid = b.select(isUpper, mine.valid, other.valid);
  }
  return join(first, second);
}

void ReductionsLowering::Reduction::combineLanes() {
  const bool anyOrder = isCommutative(combiner);
  // Butterfly reduction: after each round, both partners hold the same value.
  for (size_t dim = 0; dim < size_t(type.getRank()); ++dim) {
    if (is_contained(kept, dim))
      continue;
    for (const sm::IndexTerm &term : threads.digits(dim, Axis::lane))
      for (int64_t half = 1; half < term.size; half *= 2) {
        const int64_t mask = term.stride * half;
        for (Partial &mine : partials) {
          Partial other = shuffled(mine, [&](Lanes value) { return shuffleXor(b, value, mask); });
          mine = anyOrder ? join(mine, other) : joinInLaneOrder(mine, other, mask);
        }
      }
  }
}

void ReductionsLowering::Reduction::combineWarps() {
  SmallVector<sm::IndexTerm> warpDigits, keptLanes;
  for (size_t dim = 0; dim < size_t(type.getRank()); ++dim)
    if (is_contained(kept, dim))
      append_range(keptLanes, threads.digits(dim, Axis::lane));
    else
      append_range(warpDigits, threads.digits(dim, Axis::warp));
  if (warpDigits.empty() || partials.empty())
    return;
  auto all = group.exchangeWarps(partials, warpDigits, keptLanes, op);
  for (auto [mine, parts] : zip_equal(partials, all)) {
    mine = parts.front();
    for (const Partial &part : ArrayRef(parts).drop_front())
      mine = join(mine, part);
  }
}

void ReductionsLowering::Reduction::finish() {
  Partial init;
  for (Value value : op.getInits())
    init.values.push_back(group.kernel.scalars.lookup(value));
  SmallVector<Tile> made;
  for (Value result : op.getResults())
    made.push_back(Tile(results.registers(), b.poison(mlir::getElementTypeOrSelf(result))));
  for (auto [reg, partial] : zip_equal(alive, partials)) {
    Partial whole = join(init, partial);
    for (auto [tile, value] : zip_equal(made, whole.values))
      tile[reg] = value;
  }
  for (auto [result, tile] : zip_equal(op.getResults(), made))
    group.kernel.tiles[result] = std::move(tile);
}

void ReductionsLowering::reduce(tile::ReduceOp op) {
  Reduction reduction(*this, op);
  auto members = reduction.collectRegisters();
  if (!members)
    return;
  reduction.combineRegisters(*members);
  reduction.combineLanes();
  reduction.combineWarps();
  reduction.finish();
}

} // namespace tilewright::gpu
