// Constraints of convolution and dynamic_conv. The two differ in the source of the padding, and
// their constraints have the same numbers.
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyProducts.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tilewright::stablehlo;

namespace {
/// The roles of the dimensions of one operand, or of the result.
struct Roles {
  StringRef of;
  StringRef spatialName;
  int64_t first, second;
  ArrayRef<int64_t> spatial;
};

/// The constraints of one convolution or dynamic_conv.
class ConvolutionRules {
public:
  template <typename ConvOp>
  explicit ConvolutionRules(ConvOp op)
      : op(op), lhs(cast<RankedTensorType>(op.getLhs().getType())),
        rhs(cast<RankedTensorType>(op.getRhs().getType())),
        result(cast<RankedTensorType>(op.getResult().getType())), dims(op.getDimensionNumbers()),
        strides(op.getWindowStrides()), lhsDilation(op.getLhsDilation()),
        rhsDilation(op.getRhsDilation()), reversal(op.getWindowReversal()),
        featureGroups(op.getFeatureGroupCount()), batchGroups(op.getBatchGroupCount()),
        precision(op.getPrecisionConfigAttr()) {}

  /// Checks all constraints; `padding` is null if it is unknown.
  LogicalResult verify(DenseIntElementsAttr padding);

  int64_t spatialRank() const { return lhs.getRank() - 2; }

private:
  LogicalResult verifyRanks();
  LogicalResult verifyWindow();
  LogicalResult verifyRoles(const Roles &roles);
  LogicalResult verifyGroups();
  LogicalResult verifyResult(DenseIntElementsAttr padding);
  LogicalResult verifyQuantizedAxes();

  Operation *op;
  RankedTensorType lhs, rhs, result;
  ConvDimensionNumbersAttr dims;
  std::optional<ArrayRef<int64_t>> strides, lhsDilation, rhsDilation;
  std::optional<ArrayRef<bool>> reversal;
  int64_t featureGroups, batchGroups;
  ArrayAttr precision;
};
} // namespace

LogicalResult ConvolutionRules::verify(DenseIntElementsAttr padding) {
  Roles roles[] = {{"lhs", "input_spatial_dimensions", dims.getInputBatchDimension(),
                    dims.getInputFeatureDimension(), dims.getInputSpatialDimensions()},
                   {"rhs", "kernel_spatial_dimensions", dims.getKernelInputFeatureDimension(),
                    dims.getKernelOutputFeatureDimension(), dims.getKernelSpatialDimensions()},
                   {"the result", "output_spatial_dimensions", dims.getOutputBatchDimension(),
                    dims.getOutputFeatureDimension(), dims.getOutputSpatialDimensions()}};
  if (failed(verifyRanks()) || failed(verifyWindow()))
    return failure();
  for (const Roles &each : roles)
    if (failed(verifyRoles(each)))
      return failure();
  // convolution_c24, dynamic_conv_c24
  if (failed(verifyGroups()) || failed(verifyPrecisionConfig(op, precision)) ||
      failed(verifyResult(padding)))
    return failure();
  Type lhsElement = lhs.getElementType(), rhsElement = rhs.getElementType();
  return failure(
      failed(verifyProductElements(op, lhsElement, rhsElement, result.getElementType())) ||
      failed(verifyQuantizedAxes()));
}

LogicalResult ConvolutionRules::verifyRanks() {
  int64_t rank = lhs.getRank();
  if (rank != rhs.getRank()) // convolution_c1, dynamic_conv_c1
    return op->emitOpError() << "lhs and rhs must have the same rank, got " << rank << " and "
                             << rhs.getRank();
  if (rank < 2) // convolution_c1, dynamic_conv_c1
    return op->emitOpError() << "operands must have rank at least 2 (lhs: batch and input feature; "
                                "rhs: input feature and output feature), got rank "
                             << rank;
  if (result.getRank() != rank) // convolution_c26, dynamic_conv_c26
    return op->emitOpError() << "result must have the rank of the operands, " << rank << ", got "
                             << result.getRank();
  return success();
}

LogicalResult ConvolutionRules::verifyWindow() {
  auto verifyCount = [&](StringRef name, int64_t count) -> LogicalResult {
    // Published programs contain dynamic_conv ops with more strides than spatial dimensions.
    if (count == spatialRank() || (isa<DynamicConvOp>(op) && count > spatialRank()))
      return success();
    return op->emitOpError() << name << " must have one entry for each spatial dimension, got "
                             << count << " for " << spatialRank();
  };
  std::pair<StringRef, std::optional<ArrayRef<int64_t>>> lists[] = {
      // convolution_c2, convolution_c3, dynamic_conv_c2, dynamic_conv_c3
      {"window_strides", strides},
      // convolution_c5, convolution_c6, dynamic_conv_c5, dynamic_conv_c6
      {"lhs_dilation", lhsDilation},
      // convolution_c7, convolution_c8, dynamic_conv_c7, dynamic_conv_c8
      {"rhs_dilation", rhsDilation}};
  for (auto [name, list] : lists)
    if (list &&
        (failed(verifyCount(name, list->size())) || failed(verifyPositive(op, name, *list))))
      return failure();
  // convolution_c9, dynamic_conv_c9
  return reversal ? verifyCount("window_reversal", reversal->size()) : success();
}

LogicalResult ConvolutionRules::verifyRoles(const Roles &roles) {
  int64_t rank = spatialRank() + 2;
  // convolution_c12, convolution_c17, convolution_c19
  // dynamic_conv_c12, dynamic_conv_c17, dynamic_conv_c19
  if (static_cast<int64_t>(roles.spatial.size()) != spatialRank())
    return op->emitOpError() << roles.spatialName << " must list all but two dimensions of "
                             << roles.of << ", got " << roles.spatial.size() << " of " << rank;
  // convolution_c13, convolution_c18, convolution_c20
  // dynamic_conv_c13, dynamic_conv_c18, dynamic_conv_c20
  SmallVector<int64_t> all = {roles.first, roles.second};
  llvm::append_range(all, roles.spatial);
  std::string name = ("dimension numbers of " + roles.of).str();
  return failure(failed(verifyUnique(op, name, all)) ||
                 failed(verifyInRange(op, name, all, roles.of, rank)));
}

LogicalResult ConvolutionRules::verifyGroups() {
  if (featureGroups < 1) // convolution_c21, dynamic_conv_c21
    return op->emitOpError() << "feature_group_count must be at least 1, got " << featureGroups;
  if (batchGroups < 1) // convolution_c22, dynamic_conv_c22
    return op->emitOpError() << "batch_group_count must be at least 1, got " << batchGroups;
  if (featureGroups > 1 && batchGroups > 1) // convolution_c23, dynamic_conv_c23
    return op->emitOpError() << "feature_group_count or batch_group_count must be 1, got "
                             << featureGroups << " and " << batchGroups;

  int64_t batches = lhs.getDimSize(dims.getInputBatchDimension());
  int64_t inputFeatures = lhs.getDimSize(dims.getInputFeatureDimension());
  int64_t kernelInputs = rhs.getDimSize(dims.getKernelInputFeatureDimension());
  int64_t kernelOutputs = rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  struct Division {
    StringRef what;
    int64_t size;
    StringRef name;
    int64_t groups;
  } divisions[] = {
      // convolution_c10, dynamic_conv_c10
      {"batch size of lhs", batches, "batch_group_count", batchGroups},
      // convolution_c11, dynamic_conv_c11
      {"number of features of lhs", inputFeatures, "feature_group_count", featureGroups},
      // convolution_c15, dynamic_conv_c15
      {"number of output features of rhs", kernelOutputs, "batch_group_count", batchGroups},
      // convolution_c16, dynamic_conv_c16
      {"number of output features of rhs", kernelOutputs, "feature_group_count", featureGroups}};
  for (const Division &each : divisions)
    if (!ShapedType::isDynamic(each.size) && each.size % each.groups != 0)
      return op->emitOpError() << each.what << " must be divisible by " << each.name << ", got "
                               << each.size << " and " << each.groups;
  // convolution_c14, dynamic_conv_c14
  if (!ShapedType::isDynamic(inputFeatures) &&
      !sizesAgree(kernelInputs, inputFeatures / featureGroups))
    return op->emitOpError() << "rhs must have as many input features as one feature group of lhs, "
                             << inputFeatures / featureGroups << ", got " << kernelInputs;
  return success();
}

LogicalResult ConvolutionRules::verifyResult(DenseIntElementsAttr padding) {
  SmallVector<int64_t> expected(result.getRank(), ShapedType::kDynamic);
  int64_t batches = lhs.getDimSize(dims.getInputBatchDimension());
  if (!ShapedType::isDynamic(batches))
    expected[dims.getOutputBatchDimension()] = batches / batchGroups;
  expected[dims.getOutputFeatureDimension()] =
      rhs.getDimSize(dims.getKernelOutputFeatureDimension());
  SmallVector<int64_t> paddings =
      padding ? paddingEntries(padding) : SmallVector<int64_t>(2 * spatialRank(), 0);
  for (int64_t i = 0; i < spatialRank() && (padding || isa<ConvolutionOp>(op)); ++i) {
    int64_t input = lhs.getDimSize(dims.getInputSpatialDimensions()[i]);
    int64_t kernel = rhs.getDimSize(dims.getKernelSpatialDimensions()[i]);
    if (ShapedType::isDynamic(kernel))
      continue;
    Window window{kernel,
                  strides ? (*strides)[i] : 1,
                  paddings[2 * i],
                  paddings[2 * i + 1],
                  lhsDilation ? (*lhsDilation)[i] : 1,
                  rhsDilation ? (*rhsDilation)[i] : 1};
    std::optional<int64_t> count = countWindows(input, window);
    if (!count)
      return op->emitOpError() << "padded and dilated sizes must be less than 2^63, got input "
                               << input << " and kernel " << kernel << " in spatial dimension "
                               << i;
    expected[dims.getOutputSpatialDimensions()[i]] = *count;
  }
  if (!shapesAgree(result.getShape(), expected)) // convolution_c25, dynamic_conv_c25
    return op->emitOpError() << "result must have the shape " << shapeText(expected)
                             << " that the window determines, got " << shapeText(result.getShape());
  return success();
}

LogicalResult ConvolutionRules::verifyQuantizedAxes() {
  auto rhsAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(rhs.getElementType());
  // convolution_c29, dynamic_conv_c29
  if (rhsAxis && rhsAxis.getQuantizedDimension() != dims.getKernelOutputFeatureDimension())
    return op->emitOpError() << "rhs must be quantized along its output feature dimension, "
                             << dims.getKernelOutputFeatureDimension() << ", got dimension "
                             << rhsAxis.getQuantizedDimension();
  auto resultAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  // convolution_c30, dynamic_conv_c30
  if (resultAxis && resultAxis.getQuantizedDimension() != dims.getOutputFeatureDimension())
    return op->emitOpError() << "result must be quantized along its feature dimension, "
                             << dims.getOutputFeatureDimension() << ", got dimension "
                             << resultAxis.getQuantizedDimension();
  return success();
}

LogicalResult ConvolutionOp::verify() {
  ConvolutionRules rules(*this);
  DenseIntElementsAttr padding = getPaddingAttr();
  // convolution_c4. If the rank itself is invalid, rules.verify() reports it.
  if (rules.spatialRank() >= 0 && failed(verifyPaddingShape(*this, padding, rules.spatialRank())))
    return failure();
  return rules.verify(padding);
}

LogicalResult DynamicConvOp::verify() {
  ConvolutionRules rules(*this);
  ArrayRef<int64_t> shape = shapeOf(getPadding().getType());
  // dynamic_conv_c4
  if (rules.spatialRank() >= 0 && !shapesAgree(shape, {rules.spatialRank(), 2}))
    return emitOpError() << "padding must have two entries for each spatial dimension, shape ["
                         << rules.spatialRank() << ", 2], got " << shapeText(shape);
  DenseIntElementsAttr padding = knownIntegers(getPadding());
  if (padding && !padding.getElementType().isSignlessInteger(64))
    padding = nullptr;
  return rules.verify(padding);
}
