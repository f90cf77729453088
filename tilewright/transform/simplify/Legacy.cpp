// Ops that other ops say better.
#include "tilewright/dialect/stablehlo/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/IndexingOps.h"
#include "tilewright/dialect/stablehlo/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ReductionOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

LogicalResult modernDot(stablehlo::DotOp op, PatternRewriter &rewriter) {
  RankedTensorType lhs = typeOf(op.getLhs());
  auto numbers =
      stablehlo::DotDimensionNumbersAttr::get(op.getContext(), {}, {}, {lhs.getRank() - 1}, {0});
  rewriter.replaceOpWithNewOp<stablehlo::DotGeneralOp>(
      op, op.getType(), op.getLhs(), op.getRhs(), numbers, op.getPrecisionConfigAttr(), nullptr);
  return success();
}

LogicalResult modernBroadcast(stablehlo::BroadcastOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return failure();
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < typeOf(op.getOperand()).getRank(); ++dim)
    dims.push_back(dim + static_cast<int64_t>(op.getBroadcastSizes().size()));
  rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), op.getOperand(), dims);
  return success();
}

/// Collects slices along `dim`, one for each index, batch by batch.
LogicalResult modernIndexSelect(stablehlo::TorchIndexSelectOp op, PatternRewriter &rewriter) {
  if (!isStatic(op.getOperand()) || !isStatic(op.getIndex()) || !isStatic(op))
    return failure();
  RankedTensorType operand = typeOf(op.getOperand()), index = typeOf(op.getIndex());
  const int64_t batch = op.getBatchDims(), dim = op.getDim();
  if (batch > dim)
    return failure();
  SmallVector<int64_t> batching, offsets, sizes(operand.getShape());
  for (int64_t d = 0; d < batch; ++d) {
    batching.push_back(d);
    sizes[static_cast<size_t>(d)] = 1;
  }
  sizes[static_cast<size_t>(dim)] = 1;
  // The result: batch, operand up to dim, the rest of the indices, operand after dim.
  const int64_t indexRank = index.getRank() - batch;
  for (int64_t d = 0; d < op.getType().getRank(); ++d)
    if (d >= batch && (d < dim || d >= dim + indexRank))
      offsets.push_back(d);
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(
      op.getContext(), offsets, {dim}, batching, batching, {dim}, index.getRank());
  rewriter.replaceOpWithNewOp<stablehlo::GatherOp>(op, op.getType(), op.getOperand(), op.getIndex(),
                                                   numbers, sizes, false);
  return success();
}

/// The letters of one part of an einsum; nothing if there is an ellipsis or a letter comes twice.
std::optional<std::string> lettersOf(StringRef part) {
  std::string letters;
  for (char letter : part.trim()) {
    if (!isalpha(static_cast<unsigned char>(letter)) || letters.find(letter) != letters.npos)
      return std::nullopt;
    letters += letter;
  }
  return letters;
}

Value sumOver(Value value, ArrayRef<int64_t> dims, PatternRewriter &rewriter, Location location) {
  if (dims.empty())
    return value;
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDimSize(static_cast<unsigned>(dim)));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = makeNumber(rewriter, location, scalar, 0);
  auto reduce = stablehlo::ReduceOp::create(
      rewriter, location, TypeRange{RankedTensorType::get(shape, type.getElementType())},
      ValueRange{value}, ValueRange{zero}, dims);
  OpBuilder::InsertionGuard guard(rewriter);
  Block *body = rewriter.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {location, location});
  Value sum = stablehlo::AddOp::create(rewriter, location, scalar, body->getArgument(0),
                                       body->getArgument(1));
  stablehlo::ReturnOp::create(rewriter, location, sum);
  return reduce.getResult(0);
}

/// Sums letters of `letters` away that `wanted` rejects.
template <typename Wanted>
Value sumUnwanted(Value value, std::string &letters, Wanted wanted, PatternRewriter &rewriter,
                  Location location) {
  SmallVector<int64_t> dims;
  std::string left;
  for (auto [index, letter] : llvm::enumerate(letters)) {
    if (wanted(letter))
      left += letter;
    else
      dims.push_back(static_cast<int64_t>(index));
  }
  letters = left;
  return sumOver(value, dims, rewriter, location);
}

Value permuteTo(Value value, StringRef from, StringRef to, RankedTensorType type,
                PatternRewriter &rewriter, Location location) {
  SmallVector<int64_t> permutation;
  for (char letter : to)
    permutation.push_back(static_cast<int64_t>(from.find(letter)));
  return stablehlo::TransposeOp::create(rewriter, location, type, value, permutation);
}

LogicalResult modernUnaryEinsum(stablehlo::UnaryEinsumOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return failure();
  auto [left, right] = op.getEinsumConfig().split("->");
  auto from = lettersOf(left), to = lettersOf(right);
  if (!from || !to || from->size() != static_cast<size_t>(typeOf(op.getOperand()).getRank()))
    return failure();
  Value value = sumUnwanted(
      op.getOperand(), *from, [&](char letter) { return to->find(letter) != to->npos; }, rewriter,
      op.getLoc());
  rewriter.replaceOp(op, permuteTo(value, *from, *to, op.getType(), rewriter, op.getLoc()));
  return success();
}

LogicalResult modernEinsum(stablehlo::EinsumOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getLhs()) || !isStatic(op.getRhs()))
    return failure();
  auto [inputs, output] = op.getEinsumConfig().split("->");
  auto [first, second] = inputs.split(",");
  auto lhs = lettersOf(first), rhs = lettersOf(second), to = lettersOf(output);
  if (!lhs || !rhs || !to || lhs->size() != static_cast<size_t>(typeOf(op.getLhs()).getRank()) ||
      rhs->size() != static_cast<size_t>(typeOf(op.getRhs()).getRank()))
    return failure();
  auto has = [](const std::string &letters, char letter) {
    return letters.find(letter) != letters.npos;
  };
  // Letters of one side only that the result lacks are summed before.
  const std::string lhsAll = *lhs, rhsAll = *rhs;
  Value a = sumUnwanted(
      op.getLhs(), *lhs, [&](char c) { return has(rhsAll, c) || has(*to, c); }, rewriter,
      op.getLoc());
  Value b = sumUnwanted(
      op.getRhs(), *rhs, [&](char c) { return has(lhsAll, c) || has(*to, c); }, rewriter,
      op.getLoc());
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsSum, rhsSum, shape;
  std::string batch, lhsFree, rhsFree;
  for (auto [index, letter] : llvm::enumerate(*lhs)) {
    const int64_t size = typeOf(a).getDimSize(static_cast<unsigned>(index));
    if (!has(*rhs, letter)) {
      lhsFree += letter;
      continue;
    }
    auto other = static_cast<int64_t>(rhs->find(letter));
    if (typeOf(b).getDimSize(static_cast<unsigned>(other)) != size)
      return failure();
    (has(*to, letter) ? lhsBatch : lhsSum).push_back(static_cast<int64_t>(index));
    (has(*to, letter) ? rhsBatch : rhsSum).push_back(other);
    if (has(*to, letter))
      batch += letter;
  }
  for (char letter : *rhs)
    if (!has(*lhs, letter))
      rhsFree += letter;
  const std::string from = batch + lhsFree + rhsFree;
  for (char letter : from)
    shape.push_back(has(*lhs, letter)
                        ? typeOf(a).getDimSize(static_cast<unsigned>(lhs->find(letter)))
                        : typeOf(b).getDimSize(static_cast<unsigned>(rhs->find(letter))));
  auto numbers =
      stablehlo::DotDimensionNumbersAttr::get(op.getContext(), lhsBatch, rhsBatch, lhsSum, rhsSum);
  Value dot = stablehlo::DotGeneralOp::create(
      rewriter, op.getLoc(), RankedTensorType::get(shape, op.getType().getElementType()), a, b,
      numbers, nullptr, nullptr);
  rewriter.replaceOp(op, permuteTo(dot, from, *to, op.getType(), rewriter, op.getLoc()));
  return success();
}

/// A scalar that stands for all elements, made one for each.
Value spreadScalar(Value value, RankedTensorType like, PatternRewriter &rewriter,
                   Location location) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == like.getRank())
    return value;
  return stablehlo::BroadcastInDimOp::create(rewriter, location, like.clone(type.getElementType()),
                                             value, ArrayRef<int64_t>{});
}

LogicalResult spreadSelect(stablehlo::SelectOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || typeOf(op.getPred()).getRank() == op.getType().getRank())
    return failure();
  Value pred = spreadScalar(op.getPred(), op.getType(), rewriter, op.getLoc());
  rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, pred); });
  return success();
}

LogicalResult spreadClamp(stablehlo::ClampOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || (typeOf(op.getMin()).getRank() == op.getType().getRank() &&
                        typeOf(op.getMax()).getRank() == op.getType().getRank()))
    return failure();
  Value min = spreadScalar(op.getMin(), op.getType(), rewriter, op.getLoc());
  Value max = spreadScalar(op.getMax(), op.getType(), rewriter, op.getLoc());
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperand(0, min);
    op->setOperand(2, max);
  });
  return success();
}

} // namespace

void addLegacyPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::DotOp>(patterns, modernDot);
  addPattern<stablehlo::BroadcastOp>(patterns, modernBroadcast);
  addPattern<stablehlo::TorchIndexSelectOp>(patterns, modernIndexSelect);
  addPattern<stablehlo::UnaryEinsumOp>(patterns, modernUnaryEinsum);
  addPattern<stablehlo::EinsumOp>(patterns, modernEinsum);
  addPattern<stablehlo::SelectOp>(patterns, spreadSelect);
  addPattern<stablehlo::ClampOp>(patterns, spreadClamp);
}

} // namespace tilewright::simplify
