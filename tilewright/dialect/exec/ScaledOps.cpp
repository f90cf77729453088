#include "tilewright/dialect/exec/ScaledOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ScaledOps.cpp.inc"

namespace tilewright::exec {

SmallVector<int64_t> scaleShapeOf(ArrayRef<int64_t> operand, int64_t contracting, int64_t block) {
  SmallVector<int64_t> shape(operand);
  int64_t &depth = shape[static_cast<size_t>(contracting)];
  depth = (depth + block - 1) / block;
  return shape;
}

/// Checks one operand, and appends the sizes of its free dimensions to `free`.
static LogicalResult verifySide(ScaledDotOp op, StringRef name, RankedTensorType type, Value scale,
                                ArrayRef<int64_t> batching, int64_t contracting,
                                SmallVectorImpl<int64_t> &free) {
  if (!type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return op.emitOpError() << "needs " << name << " of a float type and a static shape, got "
                            << type;
  llvm::SmallBitVector seen(static_cast<unsigned>(type.getRank()));
  SmallVector<int64_t> named(batching);
  named.push_back(contracting);
  for (int64_t dim : named) {
    if (dim < 0 || dim >= type.getRank() || seen.test(static_cast<unsigned>(dim)))
      return op.emitOpError() << "names dimension " << dim << " of " << name << ", " << type
                              << ", which must exist and be named once";
    seen.set(static_cast<unsigned>(dim));
  }
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!seen.test(static_cast<unsigned>(dim)))
      free.push_back(size);
  if (!scale)
    return success();
  auto scales = cast<RankedTensorType>(scale.getType());
  const SmallVector<int64_t> whole = scaleShapeOf(type.getShape(), contracting, op.getBlock());
  bool fits = isa<FloatType>(scales.getElementType()) && scales.getRank() == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim) {
    const int64_t size = scales.getDimSize(static_cast<unsigned>(dim));
    fits = size == whole[static_cast<size_t>(dim)] || (size == 1 && dim != contracting);
  }
  if (!fits)
    return op.emitOpError() << "needs scales of " << name << " of a float type and the shape "
                            << RankedTensorType::get(whole, scales.getElementType())
                            << ", or with 1 along dimensions that are not contracted, got "
                            << scales;
  return success();
}

LogicalResult ScaledDotOp::verify() {
  if (getBlock() < 1)
    return emitOpError() << "needs a block of at least one element, got " << getBlock();
  if (!getFactorType().isBF16() && !getFactorType().isF32())
    return emitOpError() << "needs factors of bf16 or f32, got " << getFactorType();
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  auto rhs = cast<RankedTensorType>(getRhs().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  const auto lhsContracting = static_cast<int64_t>(getLhsContractingDimension());
  const auto rhsContracting = static_cast<int64_t>(getRhsContractingDimension());
  SmallVector<int64_t> lhsFree, rhsFree, expected;
  if (failed(verifySide(*this, "lhs", lhs, getLhsScale(), getLhsBatchingDimensions(),
                        lhsContracting, lhsFree)) ||
      failed(verifySide(*this, "rhs", rhs, getRhsScale(), getRhsBatchingDimensions(),
                        rhsContracting, rhsFree)))
    return failure();
  auto sizeOf = [](RankedTensorType type, int64_t dim) {
    return type.getDimSize(static_cast<unsigned>(dim));
  };
  bool isPaired = getLhsBatchingDimensions().size() == getRhsBatchingDimensions().size() &&
                  sizeOf(lhs, lhsContracting) == sizeOf(rhs, rhsContracting);
  for (size_t i = 0; isPaired && i < getLhsBatchingDimensions().size(); ++i) {
    expected.push_back(sizeOf(lhs, getLhsBatchingDimensions()[i]));
    isPaired = expected.back() == sizeOf(rhs, getRhsBatchingDimensions()[i]);
  }
  if (!isPaired)
    return emitOpError() << "needs batching and contracting dimensions of equal sizes, got lhs "
                         << lhs << " and rhs " << rhs;
  expected.append(lhsFree);
  expected.append(rhsFree);
  if (result.getShape() != ArrayRef(expected) || !isa<FloatType>(result.getElementType()))
    return emitOpError() << "needs a result of a float type and the shape "
                         << RankedTensorType::get(expected, result.getElementType()) << ", got "
                         << result;
  return success();
}

// --- exec.scaled_matmul ---

std::optional<ScaledKind> scaledKindOf(Type lhs, Type rhs, Type scale, int64_t block) {
  auto isByte = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  const bool areHalves = isa<Float4E2M1FNType>(lhs) && isa<Float4E2M1FNType>(rhs);
  if (isa<Float8E8M0FNUType>(scale) && block == 32 && (areHalves || (isByte(lhs) && isByte(rhs))))
    return ScaledKind{areHalves ? 4 : 8};
  if (isa<Float8E4M3FNType>(scale) && block == 16 && areHalves)
    return ScaledKind{4};
  return std::nullopt;
}

SmallVector<int64_t> orderedShapeOf(int64_t batch, int64_t rows, int64_t depth,
                                    const ScaledKind &kind, int64_t block) {
  const int64_t perLine = 1024 / kind.bits;
  const int64_t lines = (depth + perLine - 1) / perLine;
  return {batch, (rows + 127) / 128, lines * kind.groups(block) * 4, 128};
}

/// The number of elements of an operand along the contracted dimension; nullopt if its type is
/// neither `element` nor bytes that pack several of them.
static std::optional<int64_t> depthOf(RankedTensorType side, Type element) {
  if (side.getRank() < 2 || side.getRank() > 3 || !side.hasStaticShape())
    return std::nullopt;
  const int64_t last = side.getShape().back();
  if (side.getElementType() == element)
    return last;
  return side.getElementType().isUnsignedInteger(8)
             ? std::optional(last * 8 / element.getIntOrFloatBitWidth())
             : std::nullopt;
}

int64_t ScaledMatmulOp::getDepth() {
  return depthOf(cast<RankedTensorType>(getLhs().getType()), getLhsType()).value_or(0);
}

LogicalResult ScaledMatmulOp::verify() {
  const auto block = static_cast<int64_t>(getBlock());
  std::optional<ScaledKind> kind = scaledKindOf(getLhsType(), getRhsType(), getScaleType(), block);
  if (!kind)
    return emitOpError() << "multiplies " << getLhsType() << " and " << getRhsType()
                         << " with scales of " << getScaleType() << " for " << block
                         << " elements, which no tensor unit does";
  auto lhs = cast<RankedTensorType>(getLhs().getType()),
       rhs = cast<RankedTensorType>(getRhs().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  std::optional<int64_t> depth = depthOf(lhs, getLhsType()), other = depthOf(rhs, getRhsType());
  const ArrayRef<int64_t> batch = lhs.getShape().drop_back(2);
  if (!depth || !other || *depth != *other || rhs.getShape().drop_back(2) != batch)
    return emitOpError() << "needs operands [batch, rows, depth], or without batch, of equal batch "
                            "and depth, got "
                         << lhs << " and " << rhs;
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  shape.push_back(rhs.getShape().drop_back().back());
  if (result.getShape() != ArrayRef(shape) ||
      (!result.getElementType().isF32() && !result.getElementType().isBF16()))
    return emitOpError() << "needs a result [batch, rows of lhs, rows of rhs] of f32 or bf16, got "
                         << result;
  for (auto [side, scale] : {std::pair(lhs, getLhsScale()), {rhs, getRhsScale()}}) {
    auto expected = RankedTensorType::get(orderedShapeOf(batch.empty() ? 1 : batch[0],
                                                         side.getShape().drop_back().back(), *depth,
                                                         *kind, block),
                                          IntegerType::get(getContext(), 8, IntegerType::Unsigned));
    if (scale.getType() != expected)
      return emitOpError() << "needs ordered scales " << expected << ", got " << scale.getType();
  }
  return success();
}

} // namespace tilewright::exec
