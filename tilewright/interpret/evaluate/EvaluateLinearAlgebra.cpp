#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/BatchNorm.h"
#include "tilewright/interpret/kernels/Convolution.h"
#include "tilewright/interpret/kernels/Dot.h"
#include "tilewright/interpret/kernels/Einsum.h"
#include "tilewright/interpret/kernels/Elementwise.h"
#include "tilewright/interpret/kernels/Fft.h"
#include "tilewright/interpret/kernels/Indexing.h"
#include "tilewright/interpret/kernels/LinearAlgebra.h"
#include "tilewright/interpret/kernels/Movement.h"

namespace tilewright::interpret {

static Status evaluateDotGeneral(stablehlo::DotGeneralOp op, OpCall &call) {
  stablehlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  const DotDimensions dimensions{
      numbers.getLhsBatchingDimensions().vec(), numbers.getRhsBatchingDimensions().vec(),
      numbers.getLhsContractingDimensions().vec(), numbers.getRhsContractingDimensions().vec()};
  std::optional<DotAlgorithm> algorithm;
  if (stablehlo::DotAlgorithmAttr attribute = op.getAlgorithmAttr())
    algorithm =
        DotAlgorithm{elementTypeOf(attribute.getLhsPrecisionType()).value_or(ElementType::f32),
                     elementTypeOf(attribute.getRhsPrecisionType()).value_or(ElementType::f32),
                     elementTypeOf(attribute.getAccumulationType()).value_or(ElementType::f32),
                     attribute.getLhsComponentCount(),
                     attribute.getRhsComponentCount(),
                     attribute.getNumPrimitiveOperations()};
  return call.give(dotGeneral(call.tensor(0), call.tensor(1), dimensions, call.resultElementType(),
                              call.context(), algorithm));
}

/// The elements of an operand times their scales, computed exactly as f64.
static Result<Tensor> scaledElements(const Tensor &elements, const Tensor *scales,
                                     int64_t contracting, int64_t block, OpCall &call) {
  TILEWRIGHT_ASSIGN(Tensor wide, converted(elements, ElementType::f64, call.context()));
  if (!scales)
    return wide;
  TILEWRIGHT_ASSIGN(Tensor factors, converted(*scales, ElementType::f64, call.context()));
  // The repeated scales consist of complete blocks; the last block of the elements may be shorter.
  const std::span<const int64_t> sizes = elements.shape().dims();
  Dims blocked(sizes.begin(), sizes.end()), dims;
  const auto at = static_cast<size_t>(contracting);
  blocked[at] = scales->shape().dims()[at];
  Dims repeated = blocked;
  repeated[at] *= block;
  blocked.insert(blocked.begin() + contracting + 1, block);
  for (int64_t dim = 0; dim < static_cast<int64_t>(blocked.size()); ++dim)
    if (dim != contracting + 1)
      dims.push_back(dim);
  TILEWRIGHT_ASSIGN(Shape blockedShape, Shape::create(blocked));
  TILEWRIGHT_ASSIGN(factors,
                    broadcastInDim(factors, dims, std::move(blockedShape), call.context()));
  TILEWRIGHT_ASSIGN(Shape repeatedShape, Shape::create(repeated));
  TILEWRIGHT_ASSIGN(factors, reshape(factors, std::move(repeatedShape)));
  const Dims zeros(repeated.size(), 0), ones(repeated.size(), 1);
  TILEWRIGHT_ASSIGN(factors, slice(factors, zeros, sizes, ones, call.context()));
  const Tensor both[] = {wide, factors};
  return elementwise(ScalarOp::multiply, both, ElementType::f64, call.context());
}

/// Exact products and sums, rounded once: the semantics of exec.scaled_dot, except that factors and
/// partial sums are not rounded.
static Status evaluateScaledDot(exec::ScaledDotOp op, OpCall &call) {
  const auto lhsDim = static_cast<int64_t>(op.getLhsContractingDimension());
  const auto rhsDim = static_cast<int64_t>(op.getRhsContractingDimension());
  const auto block = static_cast<int64_t>(op.getBlock());
  const Tensor *lhsScale = op.getLhsScale() ? &call.tensor(2) : nullptr;
  const Tensor *rhsScale = op.getRhsScale() ? &call.tensor(lhsScale ? 3 : 2) : nullptr;
  TILEWRIGHT_ASSIGN(Tensor lhs, scaledElements(call.tensor(0), lhsScale, lhsDim, block, call));
  TILEWRIGHT_ASSIGN(Tensor rhs, scaledElements(call.tensor(1), rhsScale, rhsDim, block, call));
  const DotDimensions dimensions{
      op.getLhsBatchingDimensions().vec(), op.getRhsBatchingDimensions().vec(), {lhsDim}, {rhsDim}};
  return call.give(dotGeneral(lhs, rhs, dimensions, call.resultElementType(), call.context()));
}

/// The elements of an operand, which may be packed into bytes.
static Result<Tensor> unpackedElements(const Tensor &side, ElementType element, OpCall &call) {
  if (side.type() == element)
    return side;
  const std::span<const int64_t> dims = side.shape().dims();
  Dims parts(dims.begin(), dims.end()), whole = parts;
  parts.push_back(8 / numerics::bitWidth(element));
  whole.back() *= parts.back();
  if (parts.back() == 1)
    parts.pop_back();
  TILEWRIGHT_ASSIGN(Shape partsShape, Shape::create(parts));
  TILEWRIGHT_ASSIGN(Tensor elements,
                    bitcastConvert(side, element, std::move(partsShape), call.context()));
  TILEWRIGHT_ASSIGN(Shape wholeShape, Shape::create(whole));
  return reshape(elements, std::move(wholeShape));
}

/// The ordered scales of exec.scaled_matmul as [batch…, rows, blocks], without their padding.
static Result<Tensor> rowsOfScales(const Tensor &ordered, ElementType element, const Shape &side,
                                   int64_t block, OpCall &call) {
  const std::span<const int64_t> sizes = ordered.shape().dims();
  TILEWRIGHT_ASSIGN(Tensor scales,
                    bitcastConvert(ordered, element, ordered.shape(), call.context()));
  // Row 128 i + 32 j + r, block 4 c + s: byte 16 r + 4 j + s of group (i, c).
  TILEWRIGHT_ASSIGN(Shape split, Shape::create({sizes[0], sizes[1], sizes[2] / 4, 32, 4, 4}));
  TILEWRIGHT_ASSIGN(scales, reshape(scales, std::move(split)));
  const Dims permutation{0, 1, 4, 3, 2, 5};
  TILEWRIGHT_ASSIGN(scales, transpose(scales, permutation, call.context()));
  TILEWRIGHT_ASSIGN(Shape padded, Shape::create({sizes[0], sizes[1] * 128, sizes[2]}));
  TILEWRIGHT_ASSIGN(scales, reshape(scales, std::move(padded)));
  Dims result(side.dims().begin(), side.dims().end());
  result.back() = (result.back() + block - 1) / block;
  const Dims zeros(3, 0), ones(3, 1), limit{sizes[0], result[result.size() - 2], result.back()};
  TILEWRIGHT_ASSIGN(scales, slice(scales, zeros, limit, ones, call.context()));
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(result));
  return reshape(scales, std::move(resultShape));
}

/// Exact products and sums, rounded once, as in exec.scaled_dot.
static Status evaluateScaledMatmul(exec::ScaledMatmulOp op, OpCall &call) {
  const auto block = static_cast<int64_t>(op.getBlock());
  auto factors = [&](size_t side, mlir::Type type) -> Result<Tensor> {
    // Both types are floats that the op's verifier knows.
    const ElementType element = *elementTypeOf(type), scale = *elementTypeOf(op.getScaleType());
    TILEWRIGHT_ASSIGN(Tensor elements, unpackedElements(call.tensor(side), element, call));
    TILEWRIGHT_ASSIGN(Tensor scales,
                      rowsOfScales(call.tensor(side + 2), scale, elements.shape(), block, call));
    return scaledElements(elements, &scales, elements.shape().rank() - 1, block, call);
  };
  TILEWRIGHT_ASSIGN(Tensor lhs, factors(0, op.getLhsType()));
  TILEWRIGHT_ASSIGN(Tensor rhs, factors(1, op.getRhsType()));
  const int64_t last = lhs.shape().rank() - 1;
  const Dims batch = last == 2 ? Dims{0} : Dims();
  const DotDimensions dimensions{batch, batch, {last}, {last}};
  return call.give(dotGeneral(lhs, rhs, dimensions, call.resultElementType(), call.context()));
}

static Status evaluateDot(stablehlo::DotOp op, OpCall &call) {
  return call.give(dot(call.tensor(0), call.tensor(1), call.resultElementType(), call.context()));
}

/// The common part of convolution and dynamic_conv; they differ in the source of the padding.
template <typename Op>
static Status convolve(Op op, const std::vector<int64_t> &padding, OpCall &call) {
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ConvolutionParameters parameters;
  parameters.input = {numbers.getInputBatchDimension(), numbers.getInputFeatureDimension(),
                      numbers.getInputSpatialDimensions().vec()};
  parameters.kernel = {numbers.getKernelOutputFeatureDimension(),
                       numbers.getKernelInputFeatureDimension(),
                       numbers.getKernelSpatialDimensions().vec()};
  parameters.output = {numbers.getOutputBatchDimension(), numbers.getOutputFeatureDimension(),
                       numbers.getOutputSpatialDimensions().vec()};
  parameters.featureGroupCount = static_cast<int64_t>(op.getFeatureGroupCount());
  parameters.batchGroupCount = static_cast<int64_t>(op.getBatchGroupCount());
  const size_t rank = parameters.kernel.spatial.size();
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension window;
    window.size = call.tensor(1).shape()[parameters.kernel.spatial[i]];
    if (op.getWindowStrides())
      window.stride = (*op.getWindowStrides())[i];
    if (op.getLhsDilation())
      window.baseDilation = (*op.getLhsDilation())[i];
    if (op.getRhsDilation())
      window.windowDilation = (*op.getRhsDilation())[i];
    if (op.getWindowReversal())
      window.reversed = (*op.getWindowReversal())[i];
    window.padLow = padding[2 * i];
    window.padHigh = padding[2 * i + 1];
    parameters.window.push_back(window);
  }
  return call.give(convolution(call.tensor(0), call.tensor(1), parameters, call.resultElementType(),
                               call.context()));
}

static Status evaluateConvolution(stablehlo::ConvolutionOp op, OpCall &call) {
  const size_t rank = op.getDimensionNumbers().getKernelSpatialDimensions().size();
  return convolve(
      op, op.getPadding() ? integersOf(*op.getPadding()) : std::vector<int64_t>(2 * rank, 0), call);
}

static Status evaluateDynamicConv(stablehlo::DynamicConvOp op, OpCall &call) {
  return convolve(op, call.integers(2), call);
}

static Status evaluateEinsum(stablehlo::EinsumOp op, OpCall &call) {
  return call.give(einsum(call.tensor(0), call.tensor(1), op.getEinsumConfig(),
                          call.resultElementType(), call.context()));
}

static Status evaluateUnaryEinsum(stablehlo::UnaryEinsumOp op, OpCall &call) {
  return call.give(
      unaryEinsum(call.tensor(0), op.getEinsumConfig(), call.resultElementType(), call.context()));
}

static Status evaluateCholesky(stablehlo::CholeskyOp op, OpCall &call) {
  return call.give(cholesky(call.tensor(0), op.getLower(), call.context()));
}

static Status evaluateTriangularSolve(stablehlo::TriangularSolveOp op, OpCall &call) {
  TriangularSolveParameters parameters;
  parameters.leftSide = op.getLeftSide();
  parameters.lower = op.getLower();
  parameters.unitDiagonal = op.getUnitDiagonal();
  if (op.getTransposeA() == stablehlo::Transpose::TRANSPOSE)
    parameters.transpose = Transpose::transpose;
  else if (op.getTransposeA() == stablehlo::Transpose::ADJOINT)
    parameters.transpose = Transpose::adjoint;
  return call.give(triangularSolve(call.tensor(0), call.tensor(1), parameters, call.context()));
}

static Status evaluateFft(stablehlo::FftOp op, OpCall &call) {
  // Both enumerations have the same order.
  const auto kind = static_cast<FftKind>(op.getFftType());
  return call.give(fft(call.tensor(0), kind, op.getFftLength(), call.context()));
}

template <typename Op> static BatchNormParameters parametersOf(Op op) {
  return {op.getEpsilon().convertToDouble(), static_cast<int64_t>(op.getFeatureIndex())};
}

static Status evaluateBatchNormInference(stablehlo::BatchNormInferenceOp op, OpCall &call) {
  return call.give(batchNormInference(call.tensor(0), call.tensor(1), call.tensor(2),
                                      call.tensor(3), call.tensor(4), parametersOf(op),
                                      call.context()));
}

static Status evaluateBatchNormTraining(stablehlo::BatchNormTrainingOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(BatchNormTraining result,
                    batchNormTraining(call.tensor(0), call.tensor(1), call.tensor(2),
                                      parametersOf(op), call.context()));
  call.results = {std::move(result.output), std::move(result.mean), std::move(result.variance)};
  return Status();
}

static Status evaluateBatchNormGrad(stablehlo::BatchNormGradOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(BatchNormGradient result,
                    batchNormGrad(call.tensor(0), call.tensor(1), call.tensor(2), call.tensor(3),
                                  call.tensor(4), parametersOf(op), call.context()));
  call.results = {std::move(result.operand), std::move(result.scale), std::move(result.offset)};
  return Status();
}

void addLinearAlgebraHandlers(HandlerTable &table) {
  addArithmetic<stablehlo::DotGeneralOp, evaluateDotGeneral>(table);
  addArithmetic<stablehlo::DotOp, evaluateDot>(table);
  addArithmetic<exec::ScaledDotOp, evaluateScaledDot>(table);
  addArithmetic<exec::ScaledMatmulOp, evaluateScaledMatmul>(table);
  addArithmetic<stablehlo::ConvolutionOp, evaluateConvolution>(table);
  addArithmetic<stablehlo::DynamicConvOp, evaluateDynamicConv>(table);
  addArithmetic<stablehlo::EinsumOp, evaluateEinsum>(table);
  addArithmetic<stablehlo::UnaryEinsumOp, evaluateUnaryEinsum>(table);
  addArithmetic<stablehlo::CholeskyOp, evaluateCholesky>(table);
  addArithmetic<stablehlo::TriangularSolveOp, evaluateTriangularSolve>(table);
  addArithmetic<stablehlo::FftOp, evaluateFft>(table);
  addArithmetic<stablehlo::BatchNormInferenceOp, evaluateBatchNormInference>(table);
  addArithmetic<stablehlo::BatchNormTrainingOp, evaluateBatchNormTraining>(table);
  addArithmetic<stablehlo::BatchNormGradOp, evaluateBatchNormGrad>(table);
}

} // namespace tilewright::interpret
