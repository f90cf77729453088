#include "tilewright/transform/communicate/window/Parts.h"

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/FreeDims.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/communicate/Collective.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::communicate {
namespace {

RankedTensorType resized(Value value, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[static_cast<size_t>(dim)] = size;
  return typeOf(value).clone(shape);
}

SmallVector<int64_t> lhsFree(stablehlo::DotGeneralOp product) {
  const auto numbers = product.getDotDimensionNumbers();
  return freeDims(typeOf(product.getLhs()).getRank(), numbers.getLhsBatchingDimensions(),
                  numbers.getLhsContractingDimensions());
}
SmallVector<int64_t> rhsFree(stablehlo::DotGeneralOp product) {
  const auto numbers = product.getDotDimensionNumbers();
  return freeDims(typeOf(product.getRhs()).getRank(), numbers.getRhsBatchingDimensions(),
                  numbers.getRhsContractingDimensions());
}

std::optional<int64_t> positionIn(ArrayRef<int64_t> list, int64_t value) {
  const auto *found = llvm::find(list, value);
  return found == list.end() ? std::nullopt : std::optional<int64_t>(found - list.begin());
}

/// Finds the dimension of a reshape's operand that becomes dimension `dim` of its result; nullopt
/// if the reshape splits or merges it.
std::optional<int64_t> dimBehindReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to, int64_t dim) {
  int64_t before = 1;
  for (int64_t i = 0; i < dim; ++i)
    before *= to[static_cast<size_t>(i)];
  int64_t product = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    if (product == before && from[i] == to[static_cast<size_t>(dim)])
      return static_cast<int64_t>(i);
    product *= from[i];
  }
  return std::nullopt;
}

/// For a part of an op's result along `dim`: the dimension along which the op reads a part of each
/// operand, or nothing for an operand that it reads whole. nullopt if the op cannot compute a part
/// alone.
std::optional<SmallVector<std::optional<int64_t>, 3>> operandParts(Operation *op, int64_t dim) {
  SmallVector<std::optional<int64_t>, 3> parts;
  if (auto product = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    const ProductDims dims = operandDims(product, dim);
    return SmallVector<std::optional<int64_t>, 3>{dims.lhs, dims.rhs};
  }
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    parts.push_back(transpose.getPermutation()[static_cast<size_t>(dim)]);
    return parts;
  }
  if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
    std::optional<int64_t> from = dimBehindReshape(typeOf(reshape.getOperand()).getShape(),
                                                   typeOf(reshape.getResult()).getShape(), dim);
    if (!from)
      return std::nullopt;
    parts.push_back(from);
    return parts;
  }
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    std::optional<int64_t> from = positionIn(broadcast.getBroadcastDimensions(), dim);
    if (from && typeOf(broadcast.getOperand()).getDimSize(static_cast<unsigned>(*from)) == 1)
      from = std::nullopt;
    parts.push_back(from);
    return parts;
  }
  if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumRegions() != 0)
    return std::nullopt;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || type.getShape() != typeOf(op->getResult(0)).getShape())
      return std::nullopt;
    parts.push_back(dim);
  }
  return parts;
}

bool isStatic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}

bool isSplat(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat();
}

} // namespace

ProductDims operandDims(stablehlo::DotGeneralOp product, int64_t dim) {
  const auto numbers = product.getDotDimensionNumbers();
  const auto batches = static_cast<int64_t>(numbers.getLhsBatchingDimensions().size());
  if (dim < batches)
    return {numbers.getLhsBatchingDimensions()[static_cast<size_t>(dim)],
            numbers.getRhsBatchingDimensions()[static_cast<size_t>(dim)]};
  const SmallVector<int64_t> lhs = lhsFree(product);
  if (dim - batches < static_cast<int64_t>(lhs.size()))
    return {lhs[static_cast<size_t>(dim - batches)], std::nullopt};
  return {std::nullopt, rhsFree(product)[static_cast<size_t>(dim - batches) - lhs.size()]};
}

ProductRole roleOf(stablehlo::DotGeneralOp product, bool isLhs, int64_t dim) {
  const auto numbers = product.getDotDimensionNumbers();
  const auto batching =
      isLhs ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions();
  const auto contracting =
      isLhs ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions();
  if (auto at = positionIn(batching, dim))
    return {at, (isLhs ? numbers.getRhsBatchingDimensions()
                       : numbers.getLhsBatchingDimensions())[static_cast<size_t>(*at)]};
  if (auto at = positionIn(contracting, dim))
    return {std::nullopt,
            (isLhs ? numbers.getRhsContractingDimensions()
                   : numbers.getLhsContractingDimensions())[static_cast<size_t>(*at)]};
  const int64_t free = *positionIn(isLhs ? lhsFree(product) : rhsFree(product), dim);
  const auto before = static_cast<int64_t>(batching.size()) +
                      (isLhs ? 0 : static_cast<int64_t>(lhsFree(product).size()));
  return {before + free, std::nullopt};
}

Value sliceOf(OpBuilder &builder, Location location, Value value, int64_t dim, const Part &part) {
  stablehlo::ShapedBuilder b(builder, location);
  if (isSplat(value)) {
    auto dense = cast<DenseElementsAttr>(value.getDefiningOp<stablehlo::ConstantOp>().getValue());
    return b.constant(dense.resizeSplat(resized(value, dim, part.length)));
  }
  if (!part.begin)
    return b.sliceAlong(value, dim, part.constantBegin, part.length);
  const auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value zero = b.constant(DenseElementsAttr::get(scalar, int32_t(0)));
  SmallVector<Value> begins(static_cast<size_t>(typeOf(value).getRank()), zero);
  begins[static_cast<size_t>(dim)] = part.begin;
  return b.dynamicSlice(value, begins, resized(value, dim, part.length).getShape());
}

std::optional<PartwiseValue> PartwiseValue::of(Value value, int64_t dim) {
  PartwiseValue result;
  result.root = value;
  result.rootDim = dim;
  // Other uses would need the whole value, which would be computed a second time.
  if (!isStatic(value) || !value.hasOneUse())
    return std::nullopt;
  result.visit(value, dim);
  if (result.dots.empty())
    return std::nullopt;
  return result;
}

void PartwiseValue::visit(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  const auto parts = op && op->getBlock() == root.getParentBlock() && op->getNumResults() == 1 &&
                             value.hasOneUse() && llvm::all_of(op->getOperands(), isStatic)
                         ? operandParts(op, dim)
                         : std::nullopt;
  if (!parts) {
    outside.push_back({value, dim});
    return;
  }
  const bool isProduct = isa<stablehlo::DotGeneralOp>(op);
  for (auto [operand, part] : llvm::zip_equal(op->getOperands(), *parts)) {
    if (!part)
      continue;
    // The operands of a product are computed whole, before any part.
    if (isProduct)
      outside.push_back({operand, *part});
    else
      visit(operand, *part);
  }
  if (isProduct)
    dots.push_back(cast<stablehlo::DotGeneralOp>(op));
  inside.push_back(op);
}

Value PartwiseValue::emit(OpBuilder &builder, const Part &part) const {
  llvm::DenseMap<Value, Value> parts;
  auto partOf = [&](Value value, int64_t dim) {
    if (auto known = parts.find(value); known != parts.end())
      return known->second;
    return sliceOf(builder, value.getLoc(), value, dim, part);
  };
  // The dimension along which each op's result is divided. The last op computes the root.
  llvm::DenseMap<Value, int64_t> dims{{root, rootDim}};
  for (Operation *op : llvm::reverse(inside)) {
    const auto operands = *operandParts(op, dims.lookup(op->getResult(0)));
    for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), operands))
      if (dim)
        dims[operand] = *dim;
  }
  for (Operation *op : inside) {
    const int64_t dim = dims.lookup(op->getResult(0));
    SmallVector<Value> operands;
    for (auto [operand, along] : llvm::zip_equal(op->getOperands(), *operandParts(op, dim)))
      operands.push_back(along ? partOf(operand, *along) : operand);
    parts[op->getResult(0)] =
        cloneWith(builder, op, operands, resized(op->getResult(0), dim, part.length))->getResult(0);
  }
  return parts.lookup(root);
}

} // namespace tilewright::communicate
