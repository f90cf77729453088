// Constraints of solvers, fft and batch normalization.
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

using namespace mlir;
using namespace tilewright::stablehlo;

//===----------------------------------------------------------------------===//
// cholesky, triangular_solve
//===----------------------------------------------------------------------===//

/// Checks that `type` is a batch of square matrices.
static LogicalResult verifySquare(Operation *op, RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() < 2)
    return op->emitOpError() << "a must be a matrix or a batch of matrices, got " << type;
  if (!sizesAgree(shape[shape.size() - 2], shape.back()))
    return op->emitOpError() << "matrices of a must be square, got "
                             << shapeText(shape.take_back(2));
  return success();
}

LogicalResult CholeskyOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType());
  if (failed(verifySquare(*this, a))) // cholesky_c2, cholesky_c3
    return failure();
  if (!shapesAgree(shapeOf(getResult().getType()), a.getShape())) // cholesky_c1
    return emitOpError() << "result must have the shape of a, " << shapeText(a.getShape())
                         << ", got " << shapeText(shapeOf(getResult().getType()));
  return success();
}

LogicalResult TriangularSolveOp::verify() { // triangular_solve_c1: SameBaselineElementType
  auto a = cast<RankedTensorType>(getA().getType());
  auto b = cast<RankedTensorType>(getB().getType());
  if (a.getRank() != b.getRank()) // triangular_solve_c2
    return emitOpError() << "a and b must have the same rank, got " << a.getRank() << " and "
                         << b.getRank();
  if (failed(verifySquare(*this, a))) // triangular_solve_c2, triangular_solve_c3
    return failure();
  if (!shapesAgree(a.getShape().drop_back(2), b.getShape().drop_back(2))) // triangular_solve_c3
    return emitOpError() << "a and b must have the same batch dimensions, got "
                         << shapeText(a.getShape().drop_back(2)) << " and "
                         << shapeText(b.getShape().drop_back(2));
  int64_t solved = getLeftSide() ? b.getRank() - 2 : b.getRank() - 1;
  if (!sizesAgree(b.getDimSize(solved), a.getShape().back())) // triangular_solve_c3
    return emitOpError() << "dimension " << solved << " of b must have the size of a's matrices, "
                         << a.getShape().back() << ", got " << b.getDimSize(solved);
  if (getTransposeA() == Transpose::TRANSPOSE_INVALID) // triangular_solve_i6
    return emitOpError() << "transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT, got "
                         << stringifyTranspose(getTransposeA());
  if (!shapesAgree(shapeOf(getResult().getType()), b.getShape())) // triangular_solve_c4
    return emitOpError() << "result must have the shape of b, " << shapeText(b.getShape())
                         << ", got " << shapeText(shapeOf(getResult().getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// fft
//===----------------------------------------------------------------------===//

LogicalResult FftOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<int64_t> length = getFftLength();
  int64_t count = length.size();
  if (count < 1 || count > 3) // fft_c3
    return emitOpError() << "fft_length must have 1 to 3 entries, got " << count;
  if (count > operand.getRank()) // fft_c1
    return emitOpError() << "fft_length must have at most one entry for each dimension of the "
                            "operand, got "
                         << count << " for " << operand.getRank();
  for (int64_t size : length)
    if (size < 0) // fft_c4; also rejects kDynamic, which is negative
      return emitOpError() << "fft_length must not be negative, got " << size;

  // fft_c2
  FftType type = getFftType();
  Type from = operand.getElementType(), to = result.getElementType();
  Type expectedTo = from;
  bool fits = isa<ComplexType>(from);
  if (type == FftType::RFFT) {
    fits = isa<FloatType>(from);
    expectedTo = fits ? Type(ComplexType::get(from)) : Type();
  } else if (type == FftType::IRFFT && fits) {
    expectedTo = cast<ComplexType>(from).getElementType();
  }
  if (!fits || to != expectedTo)
    return emitOpError() << stringifyFftType(type) << " must transform "
                         << (type == FftType::RFFT
                                 ? "floats to complex numbers of the same precision"
                             : type == FftType::IRFFT
                                 ? "complex numbers to floats of the same precision"
                                 : "complex numbers to the same type")
                         << ", got " << from << " and " << to;

  // fft_c4
  RankedTensorType real = type == FftType::IRFFT ? result : operand;
  if (real.getRank() != operand.getRank() || result.getRank() != operand.getRank())
    return emitOpError() << "operand and result must have the same rank, got " << operand.getRank()
                         << " and " << result.getRank();
  if ((type == FftType::RFFT || type == FftType::IRFFT) &&
      !shapesAgree(real.getShape().take_back(count), length))
    return emitOpError()
           << "the last dimensions of the real tensor must have the sizes given by fft_length, "
           << shapeText(length) << ", got " << shapeText(real.getShape());

  // fft_c5: a real signal of n numbers has n / 2 + 1 frequencies.
  SmallVector<int64_t> expected(operand.getShape());
  auto frequencies = [](int64_t size) {
    return ShapedType::isDynamic(size) || size == 0 ? size : size / 2 + 1;
  };
  if (type == FftType::RFFT)
    expected.back() = frequencies(expected.back());
  if (type == FftType::IRFFT) {
    if (!sizesAgree(operand.getShape().back(), frequencies(length.back())))
      return emitOpError() << "last dimension of the operand must have fft_length / 2 + 1 entries, "
                           << frequencies(length.back()) << ", got " << operand.getShape().back();
    expected.back() = length.back();
  }
  if (!shapesAgree(result.getShape(), expected))
    return emitOpError() << "result must have the transformed shape, " << shapeText(expected)
                         << ", got " << shapeText(result.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

// The trait SameBaselineElementType checks (C2) of all three ops: all element types are the same.

/// Checks that `index` is a dimension of the operand.
static LogicalResult verifyFeatureIndex(Operation *op, int64_t index, RankedTensorType operand) {
  if (index >= 0 && index < operand.getRank())
    return success();
  return op->emitOpError() << "feature_index must be a dimension of the operand, in [0, "
                           << operand.getRank() << "), got " << index;
}

/// Checks that each named vector has one entry per feature.
static LogicalResult verifyPerFeature(Operation *op, int64_t features,
                                      ArrayRef<std::pair<StringRef, Value>> vectors) {
  for (auto [name, value] : vectors)
    if (!sizesAgree(shapeOf(value.getType()).front(), features))
      return op->emitOpError() << name << " must have one entry for each feature, " << features
                               << ", got " << shapeOf(value.getType()).front();
  return success();
}

/// Checks that `value` has the shape of the operand.
static LogicalResult verifyLikeOperand(Operation *op, StringRef name, Value value,
                                       RankedTensorType operand) {
  if (shapesAgree(shapeOf(value.getType()), operand.getShape()))
    return success();
  return op->emitOpError() << name << " must have the shape of the operand, "
                           << shapeText(operand.getShape()) << ", got "
                           << shapeText(shapeOf(value.getType()));
}

LogicalResult BatchNormInferenceOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  if (failed(verifyFeatureIndex(*this, getFeatureIndex(), operand))) // batch_norm_inference_c1
    return failure();
  // batch_norm_inference_c3, batch_norm_inference_c4, batch_norm_inference_c5,
  // batch_norm_inference_c6, then batch_norm_inference_c7
  return failure(failed(verifyPerFeature(*this, operand.getDimSize(getFeatureIndex()),
                                         {{"scale", getScale()},
                                          {"offset", getOffset()},
                                          {"mean", getMean()},
                                          {"variance", getVariance()}})) ||
                 failed(verifyLikeOperand(*this, "result", getResult(), operand)));
}

LogicalResult BatchNormTrainingOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  if (failed(verifyFeatureIndex(*this, getFeatureIndex(), operand))) // batch_norm_training_c1
    return failure();
  // batch_norm_training_c3, batch_norm_training_c4, batch_norm_training_c5, batch_norm_training_c6,
  // then batch_norm_training_c7
  return failure(failed(verifyPerFeature(*this, operand.getDimSize(getFeatureIndex()),
                                         {{"scale", getScale()},
                                          {"offset", getOffset()},
                                          {"batch_mean", getBatchMean()},
                                          {"batch_var", getBatchVar()}})) ||
                 failed(verifyLikeOperand(*this, "output", getOutput(), operand)));
}

LogicalResult BatchNormGradOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  if (failed(verifyFeatureIndex(*this, getFeatureIndex(), operand))) // batch_norm_grad_c1
    return failure();
  // batch_norm_grad_c4, batch_norm_grad_c5, then batch_norm_grad_c3
  return failure(failed(verifyPerFeature(*this, operand.getDimSize(getFeatureIndex()),
                                         {{"scale", getScale()},
                                          {"mean", getMean()},
                                          {"variance", getVariance()},
                                          {"grad_scale", getGradScale()},
                                          {"grad_offset", getGradOffset()}})) ||
                 failed(verifyLikeOperand(*this, "grad_output", getGradOutput(), operand)) ||
                 failed(verifyLikeOperand(*this, "grad_operand", getGradOperand(), operand)));
}
