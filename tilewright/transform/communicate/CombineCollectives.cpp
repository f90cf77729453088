// communicate-combine: merges collectives into buckets that run as one.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/Prices.h"
#include "tilewright/transform/SortBlock.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

using Bucket = SmallVector<Operation *>;

/// Whether an op may do more than compute its results and communicate. Such ops keep their order.
bool hasEffects(Operation *op) {
  if (stablehlo::isCollective(op) || isa<stablehlo::CompositeOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return call.getHasSideEffect();
  if (op->getNumRegions() == 0)
    return !isMemoryEffectFree(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        if (hasEffects(&inner))
          return true;
  return false;
}

/// The properties that all ops of a bucket share; nullopt for ops that are not combined.
std::optional<CollectiveKey> bucketKeyOf(Operation *op) {
  if (!isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp, stablehlo::AllToAllOp,
           stablehlo::ReduceScatterOp>(op))
    return std::nullopt;
  std::optional<CollectiveKey> key = keyOf(op);
  // joinScattered() requires the scattered dimension at the front.
  if (key && isa<stablehlo::ReduceScatterOp>(op))
    key->dimensions = nullptr;
  return key;
}

/// Replaces the ops by one op with the operands of all, inserted before the last one. The block may
/// need sorting afterwards.
Operation *joinOperands(const Bucket &bucket) {
  Operation *last = bucket.back();
  OpBuilder builder(last);
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (Operation *op : bucket) {
    operands.append(op->operand_begin(), op->operand_end());
    types.append(op->result_type_begin(), op->result_type_end());
    locations.push_back(op->getLoc());
  }
  Operation *joined = cloneWith(builder, last, operands, types);
  joined->setLoc(builder.getFusedLoc(locations));
  unsigned next = 0;
  for (Operation *op : bucket) {
    for (Value result : op->getResults())
      result.replaceAllUsesWith(joined->getResult(next++));
    op->erase();
  }
  return joined;
}

RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

/// Replaces several reduce_scatters by one of a concatenation: each operand becomes a matrix with a
/// row for each rank, and the matrices are concatenated row by row.
Operation *joinScattered(const Bucket &bucket, int64_t ranks) {
  Operation *last = bucket.back();
  OpBuilder builder(last);
  SmallVector<Value> rows;
  SmallVector<int64_t> lengths;
  int64_t length = 0;
  for (Operation *op : bucket) {
    auto scatter = cast<stablehlo::ReduceScatterOp>(op);
    const Location location = op->getLoc();
    Value operand = scatter.getOperand();
    ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
    const auto dimension = static_cast<size_t>(scatter.getScatterDimension());
    int64_t before = 1, after = 1;
    for (size_t i = 0; i < shape.size(); ++i)
      (i < dimension ? before : after) *= shape[i];
    const int64_t row = before * after / ranks;
    if (before != 1) {
      Value split = stablehlo::ReshapeOp::create(
          builder, location, withShape(operand, {before, ranks, after / ranks}), operand);
      operand = stablehlo::TransposeOp::create(builder, location,
                                               withShape(operand, {ranks, before, after / ranks}),
                                               split, builder.getDenseI64ArrayAttr({1, 0, 2}));
    }
    rows.push_back(
        stablehlo::ReshapeOp::create(builder, location, withShape(operand, {ranks, row}), operand));
    lengths.push_back(row);
    length += row;
  }
  const Location location = last->getLoc();
  Value joined = stablehlo::ConcatenateOp::create(builder, location,
                                                  withShape(rows[0], {ranks, length}), rows, 1);
  Operation *scattered = cloneWith(builder, last, joined, withShape(joined, {1, length}));
  cast<stablehlo::ReduceScatterOp>(scattered).setScatterDimension(0);
  int64_t offset = 0;
  for (auto [op, row] : llvm::zip_equal(bucket, lengths)) {
    Value part = stablehlo::SliceOp::create(
        builder, op->getLoc(), withShape(joined, {1, row}), scattered->getResult(0),
        builder.getDenseI64ArrayAttr({0, offset}), builder.getDenseI64ArrayAttr({1, offset + row}),
        builder.getDenseI64ArrayAttr({1, 1}));
    Value result =
        stablehlo::ReshapeOp::create(builder, op->getLoc(), op->getResult(0).getType(), part);
    op->getResult(0).replaceAllUsesWith(result);
    offset += row;
    op->erase();
  }
  return scattered;
}

struct CombineCollectives : impl::CombineCollectivesPassBase<CombineCollectives> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (bytes == 0 || function.isExternal())
      return;
    FailureOr<transform::Prices> prices = transform::Prices::of(function, cluster);
    if (failed(prices))
      return signalPassFailure();
    function.walk([&](Block *block) {
      if (isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(
              block->getParentOp()))
        combineIn(*block, *prices);
    });
  }

private:
  /// Copies into and out of a concatenation cost more than the latency that they save, unless the
  /// operand is small.
  static bool isWorthCopying(Operation *op, double latency) {
    constexpr double copiedPerNano = 2.5;
    return static_cast<double>(operandBytes(op)) / copiedPerNano < latency;
  }

  void combineIn(Block &block, const transform::Prices &prices) {
    std::vector<CollectiveKey> keys;
    for (Operation &op : block)
      if (std::optional<CollectiveKey> key = bucketKeyOf(&op);
          key && !llvm::is_contained(keys, *key))
        keys.push_back(*std::move(key));
    for (const CollectiveKey &key : keys) {
      bool changes = false;
      for (const Bucket &bucket : bucketsOf(block, key, prices)) {
        numCombined += bucket.size() - 1;
        report(bucket);
        if (isa<stablehlo::ReduceScatterOp>(bucket.front()))
          joinScattered(bucket, ranksOf(bucket.front()));
        else
          joinOperands(bucket);
        changes = true;
      }
      if (changes)
        transform::sortBlock(block, hasEffects);
    }
  }

  /// Buckets of at least two independent ops with the same key. Ops of the same depth are
  /// independent: the depth of an op is the largest number of ops with this key on a path to it.
  std::vector<Bucket> bucketsOf(Block &block, const CollectiveKey &key,
                                const transform::Prices &prices) {
    std::optional<int64_t> room;
    DenseMap<Operation *, unsigned> depth;
    std::vector<Bucket> open, full; // `open` is by depth
    std::vector<int64_t> openBytes;
    for (Operation &op : block) {
      unsigned deepest = 0;
      transform::forEachProducer(
          &op, [&](Operation *producer) { deepest = std::max(deepest, depth.lookup(producer)); });
      depth[&op] = deepest;
      if (bucketKeyOf(&op) != key)
        continue;
      ++depth[&op];
      const numerics::CollectiveKind kind = *kindOf(&op);
      const DenseIntElementsAttr groups = groupsOf(&op);
      if (!groups)
        continue;
      if (isa<stablehlo::ReduceScatterOp>(op) && !isWorthCopying(&op, prices.latency(kind, groups)))
        continue;
      if (!room) // the same for all ops with this key
        room = bytes < 0 ? prices.amortizedBytes(kind, groups) : int64_t(bytes);
      const int64_t limit = *room;
      if (open.size() <= deepest) {
        open.resize(deepest + 1);
        openBytes.resize(deepest + 1, 0);
      }
      const int64_t own = operandBytes(&op);
      // A tensor that does not fit into the bucket starts a new one, unless the tensor is too small
      // to matter.
      if (openBytes[deepest] + own > limit && own > limit / 8) {
        full.push_back(std::exchange(open[deepest], {}));
        openBytes[deepest] = 0;
      }
      open[deepest].push_back(&op);
      openBytes[deepest] += own;
    }
    for (Bucket &bucket : open)
      full.push_back(std::move(bucket));
    std::erase_if(full, [](const Bucket &bucket) { return bucket.size() < 2; });
    return full;
  }

  void report(const Bucket &bucket) {
    int64_t sum = 0;
    for (Operation *op : bucket)
      sum += operandBytes(op);
    TILEWRIGHT_LOG(getArgument(), bucket.back(), "combines ", bucket.size(), " collectives of ",
                   sum, " bytes");
    remark::passed(bucket.back()->getLoc(),
                   remark::RemarkOpts::name("communicate").category("communicate"))
        << remark::add("{0} {1} ops of {2} bytes become one", bucket.size(),
                       bucket.back()->getName().getStringRef(), sum)
        << remark::reason("{0}", "they have the same ranks and do not depend on each other");
  }
};

} // namespace
} // namespace tilewright::communicate
