// fuse-split-k: for GPUs, divides a matmul with few tiles along K and sums the parts.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/EraseDead.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/ProductCost.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITKPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// Parts of K are multiples of this, so that the loops of the parts have the same iterations as the
/// whole: two lines of 128 bytes of 32-bit elements, one of 16-bit or 8-bit elements.
int64_t granuleOf(int64_t bits) { return std::max<int64_t>(64, 128 * 8 / bits); }

/// One dimension of the copy engine remains for the pieces.
constexpr int64_t highestRank = 4;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The rate at which matrix instructions multiply the operands; 0 if no instruction does.
int64_t rateOf(stablehlo::DotGeneralOp dot, exec::TargetAttr target) {
  const exec::RatesAttr rates = target.getRates();
  const exec::MatrixAttr matrix = target.getMatrix();
  Type left = elementOf(dot.getLhs()), right = elementOf(dot.getRhs());
  auto isEight = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  if (isEight(left) && isEight(right))
    return matrix.takes(left) && matrix.takes(right) ? rates.getF8() : rates.getF16();
  if (left != right)
    return 0;
  if (left.isF32())
    return canMultiplyAsTf32(dot, matrix) ? rates.getTf32() : 0;
  if (!matrix.takes(left))
    return 0;
  return left.isF16() || left.isBF16() ? rates.getF16() : left.isInteger(8) ? rates.getS8() : 0;
}

/// The type of partial sums, which loses nothing: f32, in which a kernel sums floats anyway, or
/// i32, whose sums are exact modulo 2^32. Null for other results.
Type partialType(stablehlo::DotGeneralOp dot) {
  Type result = elementOf(dot.getResult());
  if (result.isF32() || result.isF16() || result.isBF16())
    return Float32Type::get(dot.getContext());
  return result.isInteger(32) && elementOf(dot.getLhs()).isInteger(8) ? result : Type();
}

/// Whether fuse-products makes the op a part of the matmul's kernel: a cheap op without other
/// readers.
bool isInPrologue(Operation *op) {
  return op && op->hasOneUse() && !isExpensive(op) &&
         llvm::is_contained({OpClass::elementwise, OpClass::movement}, classify(op));
}

/// Why an operand's contracting dimension cannot be divided; empty if it can. A value in memory is
/// only seen in another shape. In a prologue the new shape must reach the loads, because the copy
/// engine does not compute indices with quotients.
std::string whyNotDivided(Value operand, int64_t dim) {
  Operation *op = operand.getDefiningOp();
  if (auto reshape = dyn_cast_or_null<stablehlo::ReshapeOp>(op))
    return isInPrologue(reshape.getOperand().getDefiningOp())
               ? "it is computed in the matmul's kernel, behind a reshape"
               : "";
  if (!isInPrologue(op))
    return "";
  if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(op);
      spread && !llvm::is_contained(spread.getBroadcastDimensions(), dim))
    return "";
  if (classify(op) != OpClass::elementwise)
    return llvm::formatv("it is computed in the matmul's kernel by '{0}'",
                         op->getName().getStringRef())
        .str();
  for (Value input : op->getOperands())
    if (std::string why = whyNotDivided(input, dim); !why.empty())
      return why;
  return "";
}

SmallVector<int64_t> dividedShape(ArrayRef<int64_t> shape, int64_t dim, int64_t pieces) {
  SmallVector<int64_t> divided(shape);
  divided[size_t(dim)] /= pieces;
  divided.insert(divided.begin() + dim, pieces);
  return divided;
}

/// The operand with its dimension `dim` divided into (pieces, rest).
Value divide(OpBuilder &builder, Value operand, int64_t dim, int64_t pieces) {
  Operation *op = operand.getDefiningOp();
  auto type =
      RankedTensorType::get(dividedShape(shapeOf(operand), dim, pieces), elementOf(operand));
  if (op && classify(op) == OpClass::splat) {
    auto value = cast<DenseElementsAttr>(cast<stablehlo::ConstantOp>(op).getValue());
    return stablehlo::ConstantOp::create(builder, op->getLoc(), value.reshape(type));
  }
  if (!isInPrologue(op))
    return stablehlo::ReshapeOp::create(builder, operand.getLoc(), type, operand);
  IRMapping mapping;
  if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    SmallVector<int64_t> dims(spread.getBroadcastDimensions());
    for (int64_t &into : dims)
      into += into > dim;
    return stablehlo::BroadcastInDimOp::create(builder, op->getLoc(), type, spread.getOperand(),
                                               dims);
  }
  for (Value input : op->getOperands())
    if (!mapping.contains(input))
      mapping.map(input, divide(builder, input, dim, pieces));
  Operation *divided = builder.clone(*op, mapping);
  divided->getResult(0).setType(type);
  return divided->getResult(0);
}

/// The sizes of the matmul, in the form that the cost model takes.
ProductSizes sizesOf(stablehlo::DotGeneralOp dot, int64_t rate) {
  stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
  ArrayRef<int64_t> lhs = shapeOf(dot.getLhs()), rhs = shapeOf(dot.getRhs());
  ProductSizes sizes;
  sizes.rate = rate;
  sizes.lhsBits = elementOf(dot.getLhs()).getIntOrFloatBitWidth();
  sizes.rhsBits = elementOf(dot.getRhs()).getIntOrFloatBitWidth();
  sizes.resultBits = elementOf(dot.getResult()).getIntOrFloatBitWidth();
  for (int64_t dim : dims.getLhsBatchingDimensions())
    sizes.batch *= lhs[size_t(dim)];
  for (int64_t dim : dims.getLhsContractingDimensions())
    sizes.k *= lhs[size_t(dim)];
  sizes.m = ShapedType::getNumElements(lhs) / (sizes.batch * sizes.k);
  sizes.n = ShapedType::getNumElements(rhs) / (sizes.batch * sizes.k);
  return sizes;
}

/// Replaces the matmul by `pieces` matmuls, which are a batch, and their sum.
void split(stablehlo::DotGeneralOp dot, int64_t pieces) {
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
  const int64_t left = dims.getLhsContractingDimensions()[0],
                right = dims.getRhsContractingDimensions()[0];
  Value lhs = divide(builder, dot.getLhs(), left, pieces),
        rhs = divide(builder, dot.getRhs(), right, pieces);
  // The pieces are the first batching dimension, so the first one of the result.
  auto batching = [](ArrayRef<int64_t> old, int64_t divided) {
    SmallVector<int64_t> all{divided};
    for (int64_t dim : old)
      all.push_back(dim + (dim > divided));
    return all;
  };
  Type sum = partialType(dot);
  SmallVector<int64_t> shape{pieces};
  llvm::append_range(shape, shapeOf(dot.getResult()));
  auto parts = stablehlo::DotGeneralOp::create(
      builder, loc, RankedTensorType::get(shape, sum), lhs, rhs,
      stablehlo::DotDimensionNumbersAttr::get(
          dot.getContext(), batching(dims.getLhsBatchingDimensions(), left),
          batching(dims.getRhsBatchingDimensions(), right), {left + 1}, {right + 1}),
      dot.getPrecisionConfigAttr(), dot.getAlgorithmAttr());
  exec::copyHint(dot, parts);
  auto scalar = RankedTensorType::get({}, sum);
  Value zero = stablehlo::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(scalar, builder.getZeroAttr(sum)));
  auto total = stablehlo::ReduceOp::create(
      builder, loc, TypeRange(RankedTensorType::get(shapeOf(dot.getResult()), sum)),
      ValueRange(parts.getResult()), ValueRange(zero), ArrayRef<int64_t>{0});
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&total.getBody());
    Value a = block->addArgument(scalar, loc), b = block->addArgument(scalar, loc);
    stablehlo::ReturnOp::create(builder, loc,
                                stablehlo::AddOp::create(builder, loc, scalar, a, b).getResult());
  }
  Value result = total.getResult(0);
  if (result.getType() != dot.getResult().getType())
    result = stablehlo::ConvertOp::create(builder, loc, dot.getResult().getType(), result);
  SmallVector<Value> operands{dot.getLhs(), dot.getRhs()};
  dot.replaceAllUsesWith(result);
  dot.erase();
  eraseDead(std::move(operands));
}

struct SplitK : impl::SplitKPassBase<SplitK> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    const exec::TargetAttr target = module ? exec::targetOf(module) : exec::TargetAttr();
    if (!target || !target.isGpu() || !target.getMatrix() || !target.getRates() ||
        getOperation().isPrivate())
      return;
    // Collect the matmuls first, because the rewrite adds new ones.
    SmallVector<std::pair<stablehlo::DotGeneralOp, int64_t>> found;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      if (int64_t pieces = piecesOf(dot, target); pieces > 1)
        found.push_back({dot, pieces});
    });
    for (auto [dot, pieces] : found)
      split(dot, pieces);
  }

  /// The number of pieces into which to split the matmul; 1 if it is not split.
  int64_t piecesOf(stablehlo::DotGeneralOp dot, exec::TargetAttr target) {
    auto keep = [&](const Twine &why) {
      TILEWRIGHT_LOG(getArgument(), dot, "is not split: ", why.str());
      return 1;
    };
    const bool isStatic = llvm::all_of(dot->getOperandTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
    });
    const int64_t rate = isStatic ? rateOf(dot, target) : 0;
    if (rate == 0 || !partialType(dot))
      return keep("matrix instructions do not multiply its types");
    const ProductSizes sizes = sizesOf(dot, rate);
    const SplitCost whole = costOfPieces(sizes, target, 1);
    // First find out what a split would gain if K could be divided anywhere.
    const SplitCost ideal = bestSplit(sizes, target, /*granule=*/0);
    if (!isWorthSplitting(whole, ideal))
      return keep(llvm::formatv("its {0} tiles take {1} cycles, and the best split {2}",
                                whole.tiles, int64_t(whole.cycles), int64_t(ideal.cycles)));
    const int64_t granule = granuleOf(std::max(sizes.lhsBits, sizes.rhsBits));
    const SplitCost best = bestSplit(sizes, target, granule);
    std::string why = whyNot(dot, granule, isWorthSplitting(whole, best));
    auto options = remark::RemarkOpts::name("split-product").category("fuse");
    const std::string what =
        llvm::formatv("a product of {0}x{1}x{2} has {3} tiles for {4} multiprocessors", sizes.m,
                      sizes.n, sizes.k, whole.tiles, target.getUnits());
    if (!why.empty()) {
      remark::missed(dot.getLoc(), options)
          << remark::add("{0}, but is not split along K", what) << remark::reason("{0}", why);
      return keep(why);
    }
    remark::passed(dot.getLoc(), options)
        << remark::add("{0} and is split along K: {1} pieces have {2} tiles and take about {3} "
                       "cycles instead of {4}",
                       what, best.pieces, best.tiles, int64_t(best.cycles), int64_t(whole.cycles));
    TILEWRIGHT_LOG(getArgument(), dot, "is split into ", best.pieces, " pieces along K, about ",
                   int64_t(best.cycles), " cycles instead of ", int64_t(whole.cycles));
    return best.pieces;
  }

  /// Why a matmul that would gain is not split; empty if it is.
  std::string whyNot(stablehlo::DotGeneralOp dot, int64_t granule, bool hasDivisor) {
    stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
    if (dot.getAlgorithmAttr())
      return "it has an algorithm";
    if (dims.getLhsContractingDimensions().size() != 1)
      return "it has more than one contracting dimension";
    if (std::max(shapeOf(dot.getLhs()).size(), shapeOf(dot.getRhs()).size()) > size_t(highestRank))
      return llvm::formatv("an operand has more than {0} dimensions", highestRank).str();
    if (!hasDivisor)
      return llvm::formatv("no part of K that is a multiple of {0} gains enough", granule).str();
    for (auto [operand, dim, side] :
         {std::tuple(dot.getLhs(), dims.getLhsContractingDimensions()[0], "lhs"),
          {dot.getRhs(), dims.getRhsContractingDimensions()[0], "rhs"}})
      if (std::string why = whyNotDivided(operand, dim); !why.empty())
        return llvm::formatv("its {0} cannot be divided: {1}", side, why).str();
    return "";
  }
};

} // namespace
} // namespace tilewright::fuse
