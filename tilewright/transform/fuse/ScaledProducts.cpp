// fuse-scaled-products, fuse-expand-scaled-products: products of dequantised operands as
// exec.scaled_dot, and back.
#include "tilewright/transform/fuse/ScaledProducts.h"
#include "tilewright/transform/RepresentsAll.h"
#include "tilewright/transform/TypeOf.h"

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/EraseDead.h"
#include "tilewright/transform/fuse/Passes.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SCALEDPRODUCTSPASS
#define GEN_PASS_DEF_EXPANDSCALEDPRODUCTSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

FloatType floatOf(Value value) { return dyn_cast<FloatType>(typeOf(value).getElementType()); }

/// An operand of a product: its elements, and its scales if it has any.
struct Side {
  Value elements, scales; // scales may be null
  Dims scaleShape;        // to which the scales are reshaped: a dimension for each of the elements
  int64_t block = 0;      // 0 without scales
};

/// The operand of a conversion to a type that represents it exactly, or the value itself.
Value beforeConvert(Value value) {
  auto convert = value.getDefiningOp<stablehlo::ConvertOp>();
  if (!convert || !floatOf(value) || !floatOf(convert.getOperand()) ||
      !representsAll(floatOf(value), floatOf(convert.getOperand())))
    return value;
  return convert.getOperand();
}

/// Whether the elements of a value are floats of at most 8 bits.
bool isNarrow(Value value) { return floatOf(value) && floatOf(value).getWidth() <= 8; }

/// The scales that `value` repeats: along `contracting` in blocks, and along each dimension in
/// which they have a single element. Null scales if the value has another form.
Side scalesOf(Value value, int64_t contracting) {
  const Dims shape(typeOf(value).getShape());
  const auto at = static_cast<size_t>(contracting);
  value = beforeConvert(value);
  Dims blocked = shape;
  auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>();
  if (reshape) {
    blocked = Dims(typeOf(reshape.getOperand()).getShape());
    if (blocked.size() != shape.size() + 1)
      return {};
    Dims joined = blocked;
    joined[at] *= joined[at + 1];
    joined.erase(joined.begin() + contracting + 1);
    if (joined != shape)
      return {};
    value = beforeConvert(reshape.getOperand());
  }
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return {};
  Value scales = beforeConvert(broadcast.getOperand());
  const ArrayRef<int64_t> dims = broadcast.getBroadcastDimensions(),
                          from = typeOf(scales).getShape();
  if (!isNarrow(scales))
    return {};
  // Each dimension of the scales corresponds to a dimension of the operand. Along the other
  // dimensions, all elements share a scale.
  Dims sizes(shape.size(), 1);
  for (auto [size, dim] : llvm::zip_equal(from, dims)) {
    if (reshape && dim == contracting + 1) {
      if (size != 1)
        return {};
      continue;
    }
    sizes[static_cast<size_t>(reshape && dim > contracting ? dim - 1 : dim)] = size;
  }
  const int64_t blocks = sizes[at];
  const int64_t block = reshape ? blocked[at + 1] : shape[at];
  if (blocks != (reshape ? blocked[at] : 1) || block < 1)
    return {};
  // The order of the dimensions must not change, because a reshape only restores the missing ones.
  if (!llvm::is_sorted(dims))
    return {};
  return {Value(), scales, sizes, block};
}

/// The elements and scales of an operand of a product.
std::optional<Side> sideOf(Value operand, int64_t contracting) {
  auto multiply = operand.getDefiningOp<stablehlo::MultiplyOp>();
  if (!multiply) {
    Value elements = beforeConvert(operand);
    return isNarrow(elements) || floatOf(elements).isBF16()
               ? std::optional(Side{elements, {}, {}, 0})
               : std::nullopt;
  }
  // A dequantised operand with other readers is computed once for all of them.
  if (!multiply->hasOneUse())
    return std::nullopt;
  for (auto [elements, scales] : {std::pair(multiply.getLhs(), multiply.getRhs()),
                                  std::pair(multiply.getRhs(), multiply.getLhs())}) {
    Value narrow = beforeConvert(elements);
    if (!isNarrow(narrow))
      continue;
    if (Side side = scalesOf(scales, contracting); side.scales) {
      side.elements = narrow;
      return side;
    }
  }
  return std::nullopt;
}

/// Whether bf16 represents every scaled element exactly: the mantissas of element and scale
/// together fit in its mantissa, and no product is subnormal. Scales of type f8E8M0FNU reach down
/// to 2^-127, so their products may be.
bool isExactInBf16(const Side &side) {
  unsigned bits = floatOf(side.elements).getFPMantissaWidth();
  if (side.scales) {
    if (isa<Float8E8M0FNUType>(floatOf(side.scales)))
      return false;
    bits += floatOf(side.scales).getFPMantissaWidth();
  }
  return bits <= 8;
}

/// Whether the library of a CPU decodes an operand while it packs it: rows along the contracted
/// dimension, a scale for each of their blocks, and scaled elements that are numbers of bf16.
bool isDecodable(RankedTensorType elements, FloatType scale, ArrayRef<int64_t> scaleShape,
                 ArrayRef<int64_t> batching, int64_t contracting, int64_t block) {
  auto element = cast<FloatType>(elements.getElementType());
  const ArrayRef<int64_t> shape = elements.getShape();
  return element.getWidth() <= 8 && scale.getWidth() <= 8 &&
         element.getFPMantissaWidth() + scale.getFPMantissaWidth() <= 8 &&
         contracting == elements.getRank() - 1 &&
         llvm::equal(batching, llvm::seq<int64_t>(0, static_cast<int64_t>(batching.size()))) &&
         exec::scaleShapeOf(shape, contracting, block) == scaleShape;
}

/// Whether the module's target is a CPU, whose library multiplies decodable operands.
bool hasScaledLibrary(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  return module && exec::targetOf(module).getCpu();
}

/// Whether the target's library computes the product, so that it needs no dequantised operands.
bool isLibraryProduct(exec::ScaledDotOp op) {
  if (!hasScaledLibrary(op) || !op.getLhsScale() || !op.getRhsScale() ||
      !op.getFactorType().isBF16())
    return false;
  auto fits = [&](Value elements, Value scales, ArrayRef<int64_t> batching, uint64_t contracting) {
    return isDecodable(typeOf(elements), floatOf(scales), typeOf(scales).getShape(), batching,
                       static_cast<int64_t>(contracting), static_cast<int64_t>(op.getBlock()));
  };
  return fits(op.getLhs(), op.getLhsScale(), op.getLhsBatchingDimensions(),
              op.getLhsContractingDimension()) &&
         fits(op.getRhs(), op.getRhsScale(), op.getRhsBatchingDimensions(),
              op.getRhsContractingDimension());
}

/// Rewrites a dot_general as a scaled product. Returns null and changes nothing if it is not one,
/// or if it would gain nothing and `all` is not set.
exec::ScaledDotOp scaledProductOf(stablehlo::DotGeneralOp dot, bool all) {
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  FloatType factors = floatOf(dot.getLhs()), result = floatOf(dot.getResult());
  if (dot.getAlgorithm() || numbers.getLhsContractingDimensions().size() != 1 || !factors ||
      factors != floatOf(dot.getRhs()) || (!factors.isBF16() && !factors.isF32()) || !result ||
      (!result.isF32() && !result.isBF16()))
    return {};
  const int64_t lhsDim = numbers.getLhsContractingDimensions()[0],
                rhsDim = numbers.getRhsContractingDimensions()[0];
  std::optional<Side> lhs = sideOf(dot.getLhs(), lhsDim), rhs;
  if (lhs)
    rhs = sideOf(dot.getRhs(), rhsDim);
  if (!rhs || (!lhs->scales && !rhs->scales) ||
      (lhs->scales && rhs->scales && lhs->block != rhs->block))
    return {};
  Type narrow = BFloat16Type::get(dot.getContext());
  const bool isNarrower = factors.isF32() && isExactInBf16(*lhs) && isExactInBf16(*rhs);
  const bool isNative = lhs->scales && rhs->scales &&
                        floatOf(lhs->scales) == floatOf(rhs->scales) &&
                        tensorTypesOf(dot, floatOf(lhs->elements), floatOf(rhs->elements),
                                      floatOf(lhs->scales), lhs->block);
  auto isDecodedSide = [&](const Side &side, ArrayRef<int64_t> batching, int64_t contracting) {
    return side.scales && isDecodable(typeOf(side.elements), floatOf(side.scales), side.scaleShape,
                                      batching, contracting, side.block);
  };
  const bool isDecoded = hasScaledLibrary(dot) && (factors.isBF16() || isNarrower) &&
                         isDecodedSide(*lhs, numbers.getLhsBatchingDimensions(), lhsDim) &&
                         isDecodedSide(*rhs, numbers.getRhsBatchingDimensions(), rhsDim);
  if (!isNarrower && !isNative && !isDecoded && !all)
    return {};
  OpBuilder builder(dot);
  auto shapedScales = [&](const Side &side) {
    return side.scales && typeOf(side.scales).getShape() != ArrayRef(side.scaleShape)
               ? stablehlo::ShapedBuilder(builder, dot.getLoc())
                     .reshape(side.scales, side.scaleShape)
               : side.scales;
  };
  return exec::ScaledDotOp::create(
      builder, dot.getLoc(), dot.getType(), lhs->elements, rhs->elements, shapedScales(*lhs),
      shapedScales(*rhs), std::max(lhs->block, rhs->block), isNarrower ? narrow : Type(factors),
      numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(), lhsDim, rhsDim);
}

struct ScaledProducts : impl::ScaledProductsPassBase<ScaledProducts> {
  using ScaledProductsPassBase::ScaledProductsPassBase;

  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) { dots.push_back(dot); });
    for (stablehlo::DotGeneralOp dot : dots)
      if (exec::ScaledDotOp scaled = scaledProductOf(dot, all)) {
        TILEWRIGHT_LOG(getArgument(), dot, "is a product of elements with scales for blocks of ",
                       scaled.getBlock());
        dot->replaceAllUsesWith(scaled);
        SmallVector<Value> before(dot->getOperands());
        dot.erase();
        eraseDead(std::move(before));
      }
  }
};

/// An operand's elements times their scales.
Value dequantised(stablehlo::ShapedBuilder &b, Value elements, Value scales, int64_t contracting,
                  int64_t block, Type factors) {
  const Dims shape(typeOf(elements).getShape());
  elements = b.convert(elements, factors);
  if (!scales)
    return elements;
  const auto at = static_cast<size_t>(contracting);
  Dims blocked = exec::scaleShapeOf(shape, contracting, block), whole = shape, dims;
  whole[at] = blocked[at] * block;
  blocked.insert(blocked.begin() + contracting + 1, block);
  for (int64_t dim = 0; dim < static_cast<int64_t>(blocked.size()); ++dim)
    if (dim != contracting + 1)
      dims.push_back(dim);
  Value wide = b.reshape(b.broadcast(b.convert(scales, factors), blocked, dims), whole);
  if (whole != shape)
    wide = b.sliceAlong(wide, contracting, 0, shape[at]);
  return b.multiply(elements, wide);
}

struct ExpandScaledProducts : impl::ExpandScaledProductsPassBase<ExpandScaledProducts> {
  void runOnOperation() override {
    SmallVector<exec::ScaledDotOp> products;
    getOperation().walk([&](exec::ScaledDotOp op) { products.push_back(op); });
    for (exec::ScaledDotOp op : products) {
      if (isLibraryProduct(op))
        continue;
      OpBuilder builder(op);
      stablehlo::ShapedBuilder b(builder, op.getLoc());
      const auto lhsDim = static_cast<int64_t>(op.getLhsContractingDimension()),
                 rhsDim = static_cast<int64_t>(op.getRhsContractingDimension());
      const auto block = static_cast<int64_t>(op.getBlock());
      Value lhs = dequantised(b, op.getLhs(), op.getLhsScale(), lhsDim, block, op.getFactorType());
      Value rhs = dequantised(b, op.getRhs(), op.getRhsScale(), rhsDim, block, op.getFactorType());
      auto numbers = stablehlo::DotDimensionNumbersAttr::get(
          op.getContext(), op.getLhsBatchingDimensions(), op.getRhsBatchingDimensions(), {lhsDim},
          {rhsDim});
      // Factors of f32 are multiplied in f32.
      auto precision = stablehlo::PrecisionAttr::get(
          op.getContext(), op.getFactorType().isF32() ? stablehlo::Precision::HIGHEST
                                                      : stablehlo::Precision::DEFAULT);
      auto dot =
          stablehlo::DotGeneralOp::create(builder, op.getLoc(), op.getType(), lhs, rhs, numbers,
                                          builder.getArrayAttr({precision, precision}), nullptr);
      op->replaceAllUsesWith(dot);
      op.erase();
    }
  }
};

} // namespace
} // namespace tilewright::fuse
