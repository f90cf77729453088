// The result of attention in a program that reads only its gradients, such as jax.grad of a sum.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/cascade/Attention.h"
#include "tilewright/transform/fuse/cascade/AttentionMatcher.h"

using namespace mlir;

namespace tilewright::cascade {

/// The product, other than that of the score, from which a sum of the backward pass is computed;
/// null if there is not exactly one.
static const Node *productOfCotangents(AttentionMatcher &match) {
  SmallVector<const Node *> tensors, ofScore, all;
  if (!match.findLeaves(*match.score, tensors, ofScore))
    return nullptr;
  for (const Reduction &reduction : match.cascade.reductions)
    if (!reduction.isMatmul() && !match.findLeaves(*reduction.maps[0], tensors, all))
      return nullptr;
  const Node *found = nullptr;
  for (const Node *leaf : all) {
    if (llvm::is_contained(ofScore, leaf) || leaf == found)
      continue;
    if (found)
      return nullptr;
    found = leaf;
  }
  return found;
}

/// The operand with a dimension of keys of a product of two that have one contracted dimension.
static std::optional<Operand> valuesOf(const AttentionMatcher &match, const Node &product) {
  auto dot = product.value.getDefiningOp<stablehlo::DotGeneralOp>();
  if (sideDims(dot, true).contracting.size() != 1)
    return std::nullopt;
  const int64_t key = match.keyDim();
  Operand lhs = operandOf(dot, true, product.dims, match.width);
  Operand rhs = operandOf(dot, false, product.dims, match.width);
  lhs.skipMovement();
  rhs.skipMovement();
  if (lhs.has(key) == rhs.has(key))
    return std::nullopt;
  return lhs.has(key) ? lhs : rhs;
}

stablehlo::DotGeneralOp addUnreadResult(Cascade &cascade) {
  AttentionMatcher match(cascade);
  if (!match.findWeights() || match.hasProduct())
    return {};
  const Node *product = productOfCotangents(match);
  std::optional<Operand> values = product ? valuesOf(match, *product) : std::nullopt;
  const Reduction &sum = cascade.reductions[match.sum];
  auto reduce = cast<stablehlo::ReduceOp>(sum.op);
  Value terms = reduce.getInputs()[0];
  if (!values || !isa<FloatType>(typeOf(values->value).getElementType()))
    return {};

  // Only what precedes both is known to precede what reads the gradients.
  Operation *source = values->value.getDefiningOp();
  const bool isLater =
      source && source->getBlock() == reduce->getBlock() && reduce->isBeforeInBlock(source);
  OpBuilder builder(reduce.getContext());
  builder.setInsertionPointAfter(isLater ? source : reduce.getOperation());
  Location loc = product->value.getLoc();
  SmallVector<int64_t> kept, batching, valueBatching, contracting, valueContracting;
  for (int64_t dim = 0; dim < typeOf(terms).getRank(); ++dim)
    if (!llvm::is_contained(reduce.getDimensions(), dim))
      kept.push_back(dim);
  for (auto [dim, place] : llvm::enumerate(values->dims)) {
    if (place < 0 || place == match.width)
      continue;
    const auto *of = llvm::find(sum.view, place);
    if (of == sum.view.end())
      return {};
    const bool isKey = place == match.keyDim();
    (isKey ? contracting : batching).push_back(of - sum.view.begin());
    (isKey ? valueContracting : valueBatching).push_back(static_cast<int64_t>(dim));
  }
  const RankedTensorType type = typeOf(terms), valueType = typeOf(values->value);
  SmallVector<int64_t> shape;
  for (int64_t dim : batching)
    shape.push_back(type.getDimSize(static_cast<unsigned>(dim)));
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
      shape.push_back(type.getDimSize(static_cast<unsigned>(dim)));
  for (int64_t dim = 0; dim < valueType.getRank(); ++dim)
    if (!llvm::is_contained(valueBatching, dim) && !llvm::is_contained(valueContracting, dim))
      shape.push_back(valueType.getDimSize(static_cast<unsigned>(dim)));

  const auto convertTo = [&](Type element, Value value) -> Value {
    const auto to = RankedTensorType::get(type.getShape(), element);
    return value.getType() == to ? value : stablehlo::ConvertOp::create(builder, loc, to, value);
  };
  // A sum may have a wider type than its terms.
  Value wide = convertTo(typeOf(reduce.getResult(0)).getElementType(), terms);
  Value sums = stablehlo::BroadcastInDimOp::create(
      builder, loc, wide.getType(), reduce.getResult(0), builder.getDenseI64ArrayAttr(kept));
  const Type element = valueType.getElementType();
  Value weights =
      convertTo(element, stablehlo::DivideOp::create(builder, loc, wide.getType(), wide, sums));
  return stablehlo::DotGeneralOp::create(
      builder, loc, RankedTensorType::get(shape, element), weights, values->value,
      stablehlo::DotDimensionNumbersAttr::get(builder.getContext(), batching, valueBatching,
                                              contracting, valueContracting),
      cast<stablehlo::DotGeneralOp>(product->value.getDefiningOp()).getPrecisionConfigAttr(),
      stablehlo::DotAlgorithmAttr());
}

} // namespace tilewright::cascade
