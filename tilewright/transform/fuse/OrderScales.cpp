// fuse-order-scales: arranges scaled products as matrix units read them.
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/ScaledProducts.h"

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/Passes.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_ORDERSCALESPASS
#include "tilewright/transform/fuse/Passes.h.inc"

/// Whether the matrix instructions of the module's target apply scales of this type.
static bool hasScaledUnit(Operation *op, Type scale) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return false;
  const exec::TargetAttr target = exec::targetOf(module);
  if (!target.isGpu() || !target.getMatrix() || !target.getRates() ||
      target.getRates().getF4() <= 0)
    return false;
  // MFMA, the matrix instruction of waves of 64 lanes, has no scales of NVFP4.
  return target.getGpu().getWarpSize() == 32 || isa<Float8E8M0FNUType>(scale);
}

std::optional<TensorTypes> tensorTypesOf(Operation *op, Type lhs, Type rhs, Type scale,
                                         int64_t block) {
  if (!hasScaledUnit(op, scale))
    return std::nullopt;
  if (auto kind = exec::scaledKindOf(lhs, rhs, scale, block))
    return TensorTypes{lhs, rhs, *kind};
  // e4m3 can represent all values of 4-bit and 6-bit types.
  auto wide = [](Type type) {
    return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(type)
               ? Type(Float8E4M3FNType::get(type.getContext()))
               : type;
  };
  if (auto kind = exec::scaledKindOf(wide(lhs), wide(rhs), scale, block))
    return TensorTypes{wide(lhs), wide(rhs), *kind};
  return std::nullopt;
}

namespace {

using Dims = SmallVector<int64_t>;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t all = 1;
  for (int64_t size : sizes)
    all *= size;
  return all;
}

/// One side of a scaled product as [batch, rows, depth], or [rows, depth] without batching
/// dimensions.
class SideOrder {
public:
  SideOrder(stablehlo::ShapedBuilder &b, Value elements, Value scales, ArrayRef<int64_t> batching,
            int64_t contracting, int64_t block)
      : b(b), elements(elements), scales(scales), block(block) {
    const ArrayRef<int64_t> shape = typeOf(elements).getShape();
    order.append(batching.begin(), batching.end());
    for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
      if (!llvm::is_contained(batching, dim) && dim != contracting)
        order.push_back(dim);
    Dims sizes;
    for (int64_t dim : order)
      sizes.push_back(shape[static_cast<size_t>(dim)]);
    hasBatch = !batching.empty();
    batch = product(ArrayRef(sizes).take_front(batching.size()));
    rows = product(ArrayRef(sizes).drop_front(batching.size()));
    order.push_back(contracting);
    whole = exec::scaleShapeOf(shape, contracting, block);
    depth = shape[static_cast<size_t>(contracting)];
  }

  bool hasBatch = false;
  int64_t batch = 1, rows = 1, depth = 0;

  /// The shape with one matrix for each batch.
  Dims matrices(int64_t lines, int64_t columns) const {
    return hasBatch ? Dims{batch, lines, columns} : Dims{lines, columns};
  }

  /// Converts the elements to `type`. Rows are padded to multiples of 16 bytes, as the copy engine
  /// requires.
  Value orderedElements(Type type, int64_t bits) {
    Value value = b.reshape(transposed(elements), matrices(rows, depth));
    value = b.convert(value, type);
    const int64_t missing =
        static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(depth), 128 / bits)) - depth;
    if (missing == 0)
      return value;
    auto zero = DenseElementsAttr::get(RankedTensorType::get({}, type),
                                       APFloat::getZero(cast<FloatType>(type).getFloatSemantics()));
    Dims none(hasBatch ? 3 : 2, 0), high = none;
    high.back() = missing;
    return b.pad(value, b.constant(zero), none, high, none);
  }

  /// The scales in the order of exec.scaled_matmul.
  Value orderedScales(const exec::ScaledKind &kind) {
    Value value = b.broadcast(scales, whole, identity(whole.size()));
    value = b.reshape(transposed(value), {batch, rows, whole[static_cast<size_t>(order.back())]});
    value = bytesOf(value);
    const Dims ordered = exec::orderedShapeOf(batch, rows, depth, kind, block);
    const int64_t groups = ordered[1], lines = ordered[2] / 4;
    const Dims high{0, groups * 128 - rows, lines * 4 - typeOf(value).getShape()[2]};
    value = b.pad(value, splat(typeOf(value).clone(Dims()), 0), {0, 0, 0}, high, {0, 0, 0});
    // Row 128 i + 32 j + r, block 4 c + s: byte 16 r + 4 j + s of group (i, c).
    value = b.reshape(value, {batch, groups, 4, 32, lines, 4});
    return b.reshape(permuted(value, {0, 1, 4, 3, 2, 5}), ordered);
  }

private:
  static Dims identity(size_t rank) {
    return llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(rank)));
  }
  Value permuted(Value value, ArrayRef<int64_t> permutation) {
    if (llvm::is_sorted(permutation))
      return value;
    Dims shape;
    for (int64_t dim : permutation)
      shape.push_back(typeOf(value).getShape()[static_cast<size_t>(dim)]);
    return stablehlo::TransposeOp::create(b.builder, b.location, typeOf(value).clone(shape), value,
                                          permutation);
  }
  Value transposed(Value value) { return permuted(value, order); }
  Value splat(RankedTensorType type, uint64_t value) {
    return b.constant(DenseElementsAttr::get(type, APInt(8, value)));
  }

  /// The unit ignores the sign of e4m3 scales. A negative scale becomes NaN, so that no result
  /// silently has the wrong sign.
  Value bytesOf(Value value) {
    const bool isSigned = isa<Float8E4M3FNType>(typeOf(value).getElementType());
    auto type = typeOf(value).clone(IntegerType::get(value.getContext(), 8, IntegerType::Unsigned));
    Value bytes = stablehlo::BitcastConvertOp::create(b.builder, b.location, type, value);
    if (!isSigned)
      return bytes;
    Value isNegative = b.compare(bytes, stablehlo::ComparisonDirection::GT, splat(type, 0x80));
    return b.select(isNegative, splat(type, 0x7F),
                    b.binary<stablehlo::AndOp>(bytes, splat(type, 0x7F)));
  }

  stablehlo::ShapedBuilder &b;
  Value elements, scales;
  int64_t block;
  Dims order; // of the dimensions: batching, free, contracting
  Dims whole; // the shape of all scales
};

struct OrderScales : impl::OrderScalesPassBase<OrderScales> {
  void runOnOperation() override {
    SmallVector<exec::ScaledDotOp> products;
    getOperation().walk([&](exec::ScaledDotOp op) { products.push_back(op); });
    for (exec::ScaledDotOp op : products)
      rewrite(op);
  }

  void rewrite(exec::ScaledDotOp op) {
    const auto block = static_cast<int64_t>(op.getBlock());
    if (!op.getLhsScale() || !op.getRhsScale())
      return;
    const Type scale = typeOf(op.getLhsScale()).getElementType(),
               result = typeOf(op.getResult()).getElementType();
    std::optional<TensorTypes> types =
        tensorTypesOf(op, typeOf(op.getLhs()).getElementType(),
                      typeOf(op.getRhs()).getElementType(), scale, block);
    if (!types || scale != typeOf(op.getRhsScale()).getElementType() ||
        typeOf(op.getResult()).getNumElements() == 0 || (!result.isF32() && !result.isBF16()))
      return;
    OpBuilder builder(op);
    stablehlo::ShapedBuilder b(builder, op.getLoc());
    SideOrder lhs(b, op.getLhs(), op.getLhsScale(), op.getLhsBatchingDimensions(),
                  static_cast<int64_t>(op.getLhsContractingDimension()), block),
        rhs(b, op.getRhs(), op.getRhsScale(), op.getRhsBatchingDimensions(),
            static_cast<int64_t>(op.getRhsContractingDimension()), block);
    if (lhs.depth == 0)
      return;
    const exec::ScaledKind &kind = types->kind;
    TILEWRIGHT_LOG(getArgument(), op, "multiplies with scales in the matrix unit, ", lhs.batch,
                   " x ", lhs.rows, " x ", rhs.rows, " x ", lhs.depth);
    Value left = lhs.orderedElements(types->lhs, kind.bits),
          right = rhs.orderedElements(types->rhs, kind.bits);
    Value leftScales = lhs.orderedScales(kind), rightScales = rhs.orderedScales(kind);
    Value matrix = exec::ScaledMatmulOp::create(
        builder, op.getLoc(), RankedTensorType::get(lhs.matrices(lhs.rows, rhs.rows), result), left,
        right, leftScales, rightScales, types->lhs, types->rhs, scale, block);
    op->replaceAllUsesWith(ValueRange(b.reshape(matrix, typeOf(op.getResult()).getShape())));
    op.erase();
  }
};

} // namespace
} // namespace tilewright::fuse
