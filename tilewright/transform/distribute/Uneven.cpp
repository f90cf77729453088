#include "tilewright/transform/distribute/Uneven.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/distribute/local/Local.h"
#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

using Sizes = SmallVector<int64_t, 4>;

/// Chains of ops longer than this are padded in the middle, which bounds the recursion.
constexpr int maxDepth = 500;

/// Whether an op computes the same elements when pass loops of its rule get more iterations, and
/// reduced loops get neutral elements. Other ops depend on sizes: random bits on the shape, indices
/// on the size to which they are clamped.
bool isPaddable(Operation *op) {
  if (isa<stablehlo::CompositeOp>(op)) // fitAttributes() fits elementwise decompositions only
    return op->getNumOperands() == 1 && op->getOperandTypes() == op->getResultTypes();
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::MapOp, stablehlo::IotaOp,
             stablehlo::ConstantOp, stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
             stablehlo::TransposeOp, stablehlo::ConcatenateOp, stablehlo::SliceOp, stablehlo::PadOp,
             stablehlo::SortOp, stablehlo::ReduceOp, stablehlo::DotGeneralOp, stablehlo::DotOp>(op);
}

class Padding {
public:
  Padding(func::FuncOp main, ShardBuilder &shards) : main(main), shards(shards) {}

  void run() {
    SmallVector<sdy::ShardingConstraintOp> constraints;
    main.walk([&](sdy::ShardingConstraintOp op) { constraints.push_back(op); });
    for (sdy::ShardingConstraintOp op : constraints)
      pad(op);
    if (twins.empty())
      return;
    SmallVector<Operation *> ops;
    main.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (!replaced.contains(op) &&
          llvm::any_of(op->getOperands(), [&](Value value) { return twins.contains(value); }))
        follow(op);
  }

private:
  void pad(sdy::ShardingConstraintOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    // The shape in a manual region is that of a shard.
    if (!type || !isPlainTensor(type) || op->getParentOfType<sdy::ManualComputationOp>())
      return;
    Result<Sharding> read = shards.shardingOf(op.getSharding(), std::nullopt);
    if (!read.isOk()) // the plan reports it
      return;
    Sizes sizes(type.getShape());
    for (auto [dim, size] : llvm::enumerate(sizes))
      size = read->padded(dim, size);
    if (ArrayRef(sizes) == type.getShape())
      return;
    Value wide = padded(op.getInput(), sizes, 0);
    OpBuilder builder(op);
    Operation *twin = builder.clone(*op);
    twin->setOperand(0, wide);
    twin->getResult(0).setType(wide.getType());
    TILEWRIGHT_LOG("distribute-split", twin, "is padded to a multiple of its number of shards");
    replace(op, twin);
    op.erase();
  }

  /// Replaces the results of `op` by slices of the results of `twin`.
  void replace(Operation *op, Operation *twin) {
    replaced.insert(op);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(twin);
    for (auto [narrow, wide] : llvm::zip_equal(op->getResults(), twin->getResults())) {
      if (narrow.getType() == wide.getType()) {
        narrow.replaceAllUsesWith(wide);
        continue;
      }
      const Sizes starts(static_cast<size_t>(typeOf(narrow).getRank()), 0),
          strides(static_cast<size_t>(typeOf(narrow).getRank()), 1);
      Value slice = stablehlo::SliceOp::create(
          builder, op->getLoc(), narrow.getType(), wide, builder.getDenseI64ArrayAttr(starts),
          builder.getDenseI64ArrayAttr(typeOf(narrow).getShape()),
          builder.getDenseI64ArrayAttr(strides));
      narrow.replaceAllUsesWith(slice);
      twins[slice] = wide;
    }
  }

  /// The new number of iterations of each loop of the op.
  struct Wider {
    ShardingRule rule;
    DenseMap<int, int64_t> sizes;

    /// Adds the loop sizes for which a tensor in `dims` gets the sizes `wanted`. Returns false if a
    /// dimension does not consist of a single loop, or if its loop already has another size.
    bool add(const ShardingRule::Dims &dims, ArrayRef<int64_t> now, ArrayRef<int64_t> wanted) {
      for (size_t dim = 0; dim < dims.size(); ++dim) {
        if (now[dim] == wanted[dim])
          continue;
        if (dims[dim].size() != 1 || rule.loop(dims[dim][0]).size != now[dim] ||
            rule.loop(dims[dim][0]).kind == LoopKind::shifted ||
            rule.loop(dims[dim][0]).kind == LoopKind::whole ||
            sizes.try_emplace(dims[dim][0], wanted[dim]).first->second != wanted[dim])
          return false;
      }
      return true;
    }
    /// Whether no dimension mixes one of these loops with other loops.
    bool isClean(ArrayRef<ShardingRule::Dims> tensors) const {
      for (const ShardingRule::Dims &dims : tensors)
        for (const ShardingRule::Dim &dim : dims)
          if (dim.size() > 1 && llvm::any_of(dim, [&](int loop) { return sizes.contains(loop); }))
            return false;
      return true;
    }
    Sizes apply(const ShardingRule::Dims &dims, ArrayRef<int64_t> now) const {
      Sizes sizes(now);
      for (size_t dim = 0; dim < dims.size(); ++dim)
        if (dims[dim].size() == 1)
          if (auto found = this->sizes.find(dims[dim][0]); found != this->sizes.end())
            sizes[dim] = found->second;
      return sizes;
    }
  };

  std::optional<Wider> ruleOf(Operation *op) const {
    if (!isPaddable(op))
      return std::nullopt;
    std::optional<ShardingRule> rule = shardingRuleOf(op);
    if (!rule)
      return std::nullopt;
    return Wider{std::move(*rule), DenseMap<int, int64_t>()};
  }

  /// Computes `op` including the padding of its operands, if that is possible.
  void follow(Operation *op) {
    std::optional<Wider> wider = ruleOf(op);
    if (!wider)
      return;
    for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), wider->rule.operands))
      if (Value twin = twins.lookup(operand);
          twin && !wider->add(dims, typeOf(operand).getShape(), typeOf(twin).getShape()))
        return;
    if (!wider->sizes.empty())
      make(op, *wider, 0);
  }

  /// Emits a wider form of `op` that replaces it. Null if a dimension consists of several loops.
  Operation *make(Operation *op, const Wider &wider, int depth) {
    if (!wider.isClean(wider.rule.operands) || !wider.isClean(wider.rule.results))
      return nullptr;
    SmallVector<Value> operands;
    for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), wider.rule.operands)) {
      Value wide = operand;
      if (isa<RankedTensorType>(operand.getType()) && !dims.empty())
        wide = padded(operand, wider.apply(dims, typeOf(operand).getShape()), depth + 1);
      operands.push_back(masked(op, wide, operand, dims, wider));
    }
    OpBuilder builder(op);
    Operation *twin = builder.clone(*op);
    twin->setOperands(operands);
    for (auto [result, dims] : llvm::zip_equal(twin->getResults(), wider.rule.results))
      result.setType(typeOf(result).clone(wider.apply(dims, typeOf(result).getShape())));
    fitAttributes(twin);
    replace(op, twin);
    return twin;
  }

  /// `wide` with neutral elements in the padding along reduced loops.
  static Value masked(Operation *op, Value wide, Value narrow, const ShardingRule::Dims &dims,
                      const Wider &wider) {
    OpBuilder builder(op);
    const Location location = op->getLoc();
    for (auto [dim, loops] : llvm::enumerate(dims)) {
      if (loops.size() != 1 || !wider.sizes.contains(loops[0]) ||
          wider.rule.loop(loops[0]).kind != LoopKind::reduced)
        continue;
      RankedTensorType type = typeOf(wide);
      const unsigned width = positionWidth(type.getDimSize(static_cast<unsigned>(dim)));
      auto indexType = RankedTensorType::get(type.getShape(), builder.getIntegerType(width));
      Value index = stablehlo::IotaOp::create(builder, location, indexType,
                                              builder.getI64IntegerAttr(static_cast<int64_t>(dim)));
      Value limit = stablehlo::ConstantOp::create(
          builder, location,
          DenseElementsAttr::get(
              indexType, APInt(width, static_cast<uint64_t>(typeOf(narrow).getShape()[dim]))));
      Value isReal = stablehlo::CompareOp::create(
          builder, location, indexType.clone(builder.getI1Type()), index, limit,
          stablehlo::ComparisonDirection::LT, stablehlo::ComparisonTypeAttr());
      Value neutral = stablehlo::ConstantOp::create(
          builder, location, neutralOf(type, wider.rule.loop(loops[0]).combine));
      wide = stablehlo::SelectOp::create(builder, location, type, isReal, wide, neutral);
    }
    return wide;
  }

  /// `value` with arbitrary elements at the end of dimensions, up to `sizes`. The op that defines
  /// it computes them if it can; otherwise the value is padded.
  Value padded(Value value, ArrayRef<int64_t> sizes, int depth) {
    if (typeOf(value).getShape() == sizes)
      return value;
    if (Value twin = twins.lookup(value); twin && typeOf(twin).getShape() == sizes)
      return twin;
    Operation *op = value.getDefiningOp();
    if (op && !twins.contains(value) && depth < maxDepth)
      if (std::optional<Wider> wider = ruleOf(op)) {
        const unsigned number = cast<OpResult>(value).getResultNumber();
        if (wider->add(wider->rule.results[number], typeOf(value).getShape(), sizes))
          if (Operation *twin = make(op, *wider, depth))
            return twin->getResult(number);
      }
    OpBuilder builder(main.getContext());
    builder.setInsertionPointAfterValue(value);
    Sizes high, none(sizes.size(), 0);
    for (auto [size, wanted] : llvm::zip_equal(typeOf(value).getShape(), sizes))
      high.push_back(wanted - size);
    auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
    Value filling =
        stablehlo::ConstantOp::create(builder, value.getLoc(), neutralOf(scalar, "stablehlo.add"));
    return stablehlo::PadOp::create(builder, value.getLoc(), typeOf(value).clone(sizes), value,
                                    filling, builder.getDenseI64ArrayAttr(none),
                                    builder.getDenseI64ArrayAttr(high),
                                    builder.getDenseI64ArrayAttr(none));
  }

  func::FuncOp main;
  ShardBuilder &shards;
  DenseMap<Value, Value> twins;   // a slice without the padding, and the value with it
  DenseSet<Operation *> replaced; // dead
};

} // namespace

void padUneven(func::FuncOp main, ShardBuilder &shards) { Padding(main, shards).run(); }

} // namespace tilewright::distribute
