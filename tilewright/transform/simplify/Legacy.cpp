// Replaces legacy ops by current ones.
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/stablehlo/ElementBits.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

LogicalResult modernDot(stablehlo::DotOp op, PatternRewriter &rewriter) {
  RankedTensorType lhs = typeOf(op.getLhs());
  auto numbers =
      stablehlo::DotDimensionNumbersAttr::get(op.getContext(), {}, {}, {lhs.getRank() - 1}, {0});
  auto dot = stablehlo::DotGeneralOp::create(rewriter, op.getLoc(), op.getType(), op.getLhs(),
                                             op.getRhs(), numbers, op.getPrecisionConfigAttr(),
                                             stablehlo::DotAlgorithmAttr());
  exec::copyHint(op, dot);
  rewriter.replaceOp(op, dot);
  return success();
}

LogicalResult modernBroadcast(stablehlo::BroadcastOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < typeOf(op.getOperand()).getRank(); ++dim)
    dims.push_back(dim + static_cast<int64_t>(op.getBroadcastSizes().size()));
  rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), op.getOperand(), dims);
  return success();
}

/// Gathers slices along `dim`, one for each index, batch by batch.
LogicalResult modernIndexSelect(stablehlo::TorchIndexSelectOp op, PatternRewriter &rewriter) {
  if (!isStatic(op.getOperand()) || !isStatic(op.getIndex()) || !isStatic(op))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  RankedTensorType operand = typeOf(op.getOperand()), index = typeOf(op.getIndex());
  const int64_t batch = op.getBatchDims(), dim = op.getDim();
  if (batch > dim)
    return rewriter.notifyMatchFailure(op, Twine("batch_dims ") + Twine(batch) +
                                               " is larger than dim " + Twine(dim));
  // A gather cannot take slices of size 1 along dimensions of size 0.
  if (op.getType().getNumElements() == 0) {
    rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(
        op, DenseElementsAttr::get(op.getType(), ArrayRef<Attribute>{}));
    return success();
  }
  if (operand.getDimSize(dim) == 0)
    return rewriter.notifyMatchFailure(op, Twine("dimension ") + Twine(dim) +
                                               " of the operand is empty, so no index is valid");
  SmallVector<int64_t> batching, offsets, sizes(operand.getShape());
  for (int64_t d = 0; d < batch; ++d) {
    batching.push_back(d);
    sizes[static_cast<size_t>(d)] = 1;
  }
  sizes[static_cast<size_t>(dim)] = 1;
  // The result's dimensions: batch, operand before `dim`, the remaining indices, operand after
  // `dim`.
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

/// The letters of one einsum operand; nullopt if it has an ellipsis or a repeated letter.
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

/// The width of an element type in bits. nullopt for complex and quantized types, which can only be
/// bitcast to their own kind.
std::optional<unsigned> packedWidth(Type element) {
  if (!element.isIntOrFloat())
    return std::nullopt;
  return element.getIntOrFloatBitWidth();
}

/// Applies `Op`, a conversion or bitcast, to change the element type of `value` to `element`.
template <typename Op>
Value recast(PatternRewriter &rewriter, Location loc, Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return Op::create(rewriter, loc, typeOf(value).clone(element), value);
}

/// Lowers a bitcast between sub-byte and other elements to shifts and masks. It is not a view of
/// memory, because kernels hold a sub-byte element in a whole byte. The first narrow element
/// is in the lowest bits.
LogicalResult shiftSubBytes(stablehlo::BitcastConvertOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (!splitsBytes(op))
    return rewriter.notifyMatchFailure(
        op, "it does not change the width of elements, or none is smaller than a byte");
  Type from = typeOf(op.getOperand()).getElementType(), to = typeOf(op).getElementType();
  std::optional<unsigned> fromBits = packedWidth(from), toBits = packedWidth(to);
  Location loc = op.getLoc();
  const unsigned wide = std::max(*fromBits, *toBits), narrow = std::min(*fromBits, *toBits);
  // The integer type of the same width; 1 bit is i1, not ui1.
  auto bitsOf = [&](unsigned width) -> Type {
    return width == 1 ? Type(rewriter.getI1Type()) : rewriter.getIntegerType(width, false);
  };
  Type number = rewriter.getIntegerType(std::max(wide, 8u), false);
  using Bitcast = stablehlo::BitcastConvertOp;
  using Convert = stablehlo::ConvertOp;
  const bool splits = *fromBits == wide;
  RankedTensorType parts = (splits ? typeOf(op) : typeOf(op.getOperand())).clone(number);
  Value place =
      stablehlo::IotaOp::create(rewriter, loc, parts, static_cast<uint64_t>(parts.getRank() - 1));
  Value shift = stablehlo::MultiplyOp::create(rewriter, loc, parts, place,
                                              makeNumber(rewriter, loc, parts, narrow));
  Value value = *fromBits == 6 ? stablehlo::bitsOfElements(rewriter, loc, op.getOperand())
                               : recast<Bitcast>(rewriter, loc, op.getOperand(), bitsOf(*fromBits));
  value = recast<Convert>(rewriter, loc, value, number);
  if (splits) {
    value = stablehlo::BroadcastInDimOp::create(
        rewriter, loc, parts, value, llvm::to_vector(llvm::seq<int64_t>(0, parts.getRank() - 1)));
    value = stablehlo::ShiftRightLogicalOp::create(rewriter, loc, parts, value, shift);
    Value mask = makeNumber(rewriter, loc, parts, (1 << narrow) - 1);
    value = stablehlo::AndOp::create(rewriter, loc, parts, value, mask);
  } else {
    value = stablehlo::ShiftLeftOp::create(rewriter, loc, parts, value, shift);
    value = sumOver(value, {parts.getRank() - 1}, rewriter, loc);
  }
  if (*toBits == 6) {
    Value bits = recast<Convert>(rewriter, loc, value, bitsOf(8));
    rewriter.replaceOp(op, stablehlo::elementsOfBits(rewriter, loc, bits, to));
    return success();
  }
  value = recast<Convert>(rewriter, loc, value, bitsOf(*toBits));
  rewriter.replaceOp(op, recast<Bitcast>(rewriter, loc, value, to));
  return success();
}

/// The value in the element type of `result`, if that is a wider one of the same kind, in which an
/// einsum adds.
Value widenTo(RankedTensorType result, Value value, PatternRewriter &rewriter, Location location) {
  Type from = typeOf(value).getElementType(), to = result.getElementType();
  if (kindOfNumber(from) != kindOfNumber(to) || widthOfNumber(from) >= widthOfNumber(to))
    return value;
  return stablehlo::ConvertOp::create(rewriter, location, typeOf(value).clone(to), value);
}

/// Sums over the dimensions whose letter `wanted` rejects, and removes them from `letters`.
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
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  auto [left, right] = op.getEinsumConfig().split("->");
  auto from = lettersOf(left), to = lettersOf(right);
  if (!from || !to || from->size() != static_cast<size_t>(typeOf(op.getOperand()).getRank()))
    return rewriter.notifyMatchFailure(
        op, "the equation has an ellipsis, a repeated letter or not one letter per dimension");
  Value value = sumUnwanted(
      widenTo(op.getType(), op.getOperand(), rewriter, op.getLoc()), *from,
      [&](char letter) { return to->find(letter) != to->npos; }, rewriter, op.getLoc());
  rewriter.replaceOp(op, permuteTo(value, *from, *to, op.getType(), rewriter, op.getLoc()));
  return success();
}

LogicalResult modernEinsum(stablehlo::EinsumOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getLhs()) || !isStatic(op.getRhs()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  auto [inputs, output] = op.getEinsumConfig().split("->");
  auto [first, second] = inputs.split(",");
  auto lhs = lettersOf(first), rhs = lettersOf(second), to = lettersOf(output);
  if (!lhs || !rhs || !to || lhs->size() != static_cast<size_t>(typeOf(op.getLhs()).getRank()) ||
      rhs->size() != static_cast<size_t>(typeOf(op.getRhs()).getRank()))
    return rewriter.notifyMatchFailure(
        op, "the equation has an ellipsis, a repeated letter or not one letter per dimension");
  auto has = [](const std::string &letters, char letter) {
    return letters.find(letter) != letters.npos;
  };
  // First sum over letters that occur in only one operand and not in the result.
  const std::string lhsAll = *lhs, rhsAll = *rhs;
  auto wantedInLhs = [&](char c) { return has(rhsAll, c) || has(*to, c); };
  auto wantedInRhs = [&](char c) { return has(lhsAll, c) || has(*to, c); };
  Value a = op.getLhs(), b = op.getRhs();
  if (!llvm::all_of(lhsAll, wantedInLhs) || !llvm::all_of(rhsAll, wantedInRhs)) {
    a = widenTo(op.getType(), a, rewriter, op.getLoc());
    b = widenTo(op.getType(), b, rewriter, op.getLoc());
  }
  a = sumUnwanted(a, *lhs, wantedInLhs, rewriter, op.getLoc());
  b = sumUnwanted(b, *rhs, wantedInRhs, rewriter, op.getLoc());
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
      return rewriter.notifyMatchFailure(op, Twine("dimension '") + Twine(letter) +
                                                 "' has different sizes in the two operands");
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

/// Broadcasts a scalar operand to the shape of `like`.
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
    return rewriter.notifyMatchFailure(
        op, "the result has a dynamic shape, or the condition is not a scalar");
  Value pred = spreadScalar(op.getPred(), op.getType(), rewriter, op.getLoc());
  rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, pred); });
  return success();
}

LogicalResult spreadClamp(stablehlo::ClampOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || (typeOf(op.getMin()).getRank() == op.getType().getRank() &&
                        typeOf(op.getMax()).getRank() == op.getType().getRank()))
    return rewriter.notifyMatchFailure(
        op, "the result has a dynamic shape, or neither bound is a scalar");
  Value min = spreadScalar(op.getMin(), op.getType(), rewriter, op.getLoc());
  Value max = spreadScalar(op.getMax(), op.getType(), rewriter, op.getLoc());
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperand(0, min);
    op->setOperand(2, max);
  });
  return success();
}

} // namespace

bool splitsBytes(stablehlo::BitcastConvertOp op) {
  std::optional<unsigned> from = packedWidth(typeOf(op.getOperand()).getElementType());
  std::optional<unsigned> to = packedWidth(typeOf(op).getElementType());
  return from && to && *from != *to && std::min(*from, *to) < 8;
}

void addLegacyPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::DotOp>(patterns, "modernDot", modernDot);
  addPattern<stablehlo::BroadcastOp>(patterns, "modernBroadcast", modernBroadcast);
  addPattern<stablehlo::TorchIndexSelectOp>(patterns, "modernIndexSelect", modernIndexSelect);
  addPattern<stablehlo::UnaryEinsumOp>(patterns, "modernUnaryEinsum", modernUnaryEinsum);
  addPattern<stablehlo::EinsumOp>(patterns, "modernEinsum", modernEinsum);
  addPattern<stablehlo::BitcastConvertOp>(patterns, "shiftSubBytes", shiftSubBytes);
  addPattern<stablehlo::SelectOp>(patterns, "spreadSelect", spreadSelect);
  addPattern<stablehlo::ClampOp>(patterns, "spreadClamp", spreadClamp);
}

} // namespace tilewright::simplify
