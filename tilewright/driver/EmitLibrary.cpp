#include "tilewright/driver/EmitLibrary.h"

#include "tilewright/interpret/Types.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::driver {

template <typename T> static artifact::Integers toList(ArrayRef<T> values) {
  return artifact::Integers(values.begin(), values.end());
}

static std::optional<numerics::ElementType> toElementType(std::optional<Type> type) {
  return type ? interpret::elementTypeOf(*type) : std::nullopt;
}

static artifact::LibraryCall toCall(exec::BroadcastInDimOp op) {
  return artifact::BroadcastInDimCall{.broadcastDimensions = toList(op.getBroadcastDimensions())};
}
static artifact::LibraryCall toCall(exec::ConcatenateOp op) {
  return artifact::ConcatenateCall{.dimension = static_cast<int64_t>(op.getDimension())};
}
static artifact::LibraryCall toCall(exec::DynamicSliceOp op) {
  return artifact::DynamicSliceCall{.sliceSizes = toList(op.getSliceSizes())};
}
static artifact::LibraryCall toCall(exec::DynamicUpdateSliceOp) {
  return artifact::DynamicUpdateSliceCall{};
}
static artifact::LibraryCall toCall(exec::GatherOp op) {
  return artifact::GatherCall{.offsetDims = toList(op.getOffsetDims()),
                              .collapsedSliceDims = toList(op.getCollapsedSliceDims()),
                              .operandBatchingDims = toList(op.getOperandBatchingDims()),
                              .startIndicesBatchingDims = toList(op.getStartIndicesBatchingDims()),
                              .startIndexMap = toList(op.getStartIndexMap()),
                              .indexVectorDim = static_cast<int64_t>(op.getIndexVectorDim()),
                              .sliceSizes = toList(op.getSliceSizes())};
}
static artifact::LibraryCall toCall(exec::IotaOp op) {
  return artifact::IotaCall{.iotaDimension = static_cast<int64_t>(op.getIotaDimension())};
}
static artifact::LibraryCall toCall(exec::PadOp op) {
  return artifact::PadCall{.edgePaddingLow = toList(op.getEdgePaddingLow()),
                           .edgePaddingHigh = toList(op.getEdgePaddingHigh()),
                           .interiorPadding = toList(op.getInteriorPadding())};
}
static artifact::LibraryCall toCall(exec::RankIdOp op) {
  return artifact::RankIdCall{.kind = op.getKind()};
}
static artifact::LibraryCall toCall(exec::ReshapeOp) { return artifact::ReshapeCall{}; }
static artifact::LibraryCall toCall(exec::ReverseOp op) {
  return artifact::ReverseCall{.dimensions = toList(op.getDimensions())};
}
static artifact::LibraryCall toCall(exec::SliceOp op) {
  return artifact::SliceCall{.startIndices = toList(op.getStartIndices()),
                             .limitIndices = toList(op.getLimitIndices()),
                             .strides = toList(op.getStrides())};
}
static artifact::LibraryCall toCall(exec::TransposeOp op) {
  return artifact::TransposeCall{.permutation = toList(op.getPermutation())};
}
static artifact::LibraryCall toCall(exec::ConvolutionOp op) {
  return artifact::ConvolutionCall{
      .inputBatchDimension = static_cast<int64_t>(op.getInputBatchDimension()),
      .inputFeatureDimension = static_cast<int64_t>(op.getInputFeatureDimension()),
      .inputSpatialDimensions = toList(op.getInputSpatialDimensions()),
      .kernelInputFeatureDimension = static_cast<int64_t>(op.getKernelInputFeatureDimension()),
      .kernelOutputFeatureDimension = static_cast<int64_t>(op.getKernelOutputFeatureDimension()),
      .kernelSpatialDimensions = toList(op.getKernelSpatialDimensions()),
      .outputBatchDimension = static_cast<int64_t>(op.getOutputBatchDimension()),
      .outputFeatureDimension = static_cast<int64_t>(op.getOutputFeatureDimension()),
      .outputSpatialDimensions = toList(op.getOutputSpatialDimensions()),
      .windowStrides = toList(op.getWindowStrides()),
      .padding = toList(op.getPadding()),
      .lhsDilation = toList(op.getLhsDilation()),
      .rhsDilation = toList(op.getRhsDilation()),
      .windowReversal = toList(op.getWindowReversal()),
      .featureGroupCount = static_cast<int64_t>(op.getFeatureGroupCount()),
      .batchGroupCount = static_cast<int64_t>(op.getBatchGroupCount()),
      .precision = op.getPrecision()};
}
static artifact::LibraryCall toCall(exec::DotGeneralOp op) {
  return artifact::DotGeneralCall{
      .lhsBatchingDimensions = toList(op.getLhsBatchingDimensions()),
      .rhsBatchingDimensions = toList(op.getRhsBatchingDimensions()),
      .lhsContractingDimensions = toList(op.getLhsContractingDimensions()),
      .rhsContractingDimensions = toList(op.getRhsContractingDimensions()),
      .precision = op.getPrecision(),
      .productType = toElementType(op.getProductType()),
      .block = static_cast<int64_t>(op.getBlock())};
}
static artifact::LibraryCall toCall(exec::AttentionOp op) {
  artifact::AttentionCall call{.sizes = toList(op.getSizes()),
                               .dims = toList(op.getDims()),
                               .weightType = toElementType(op.getWeightType())};
  if (std::optional<uint64_t> bits = op.getMaskedScore())
    call.maskedScore.push_back(static_cast<int64_t>(*bits));
  return call;
}
static artifact::LibraryCall toCall(exec::AttentionBackwardOp op) {
  return artifact::AttentionCall{.sizes = toList(op.getSizes()),
                                 .dims = toList(op.getDims()),
                                 .weightType = toElementType(op.getWeightType())};
}
static artifact::LibraryCall toCall(exec::ArgMaxOp op) {
  return artifact::ArgMaxCall{.dimension = static_cast<int64_t>(op.getDimension())};
}
static artifact::LibraryCall toCall(exec::ArgMinOp op) {
  return artifact::ArgMinCall{.dimension = static_cast<int64_t>(op.getDimension())};
}
static artifact::LibraryCall toCall(exec::CumulativeOp op) {
  return artifact::CumulativeCall{.dimension = static_cast<int64_t>(op.getDimension()),
                                  .reverse = op.getReverse(),
                                  .body = op.getBody()};
}
static artifact::LibraryCall toCall(exec::ReduceOp op) {
  return artifact::ReduceCall{.dimensions = toList(op.getDimensions()), .body = op.getBody()};
}
static artifact::LibraryCall toCall(exec::ReduceWindowOp op) {
  return artifact::ReduceWindowCall{.windowDimensions = toList(op.getWindowDimensions()),
                                    .windowStrides = toList(op.getWindowStrides()),
                                    .baseDilations = toList(op.getBaseDilations()),
                                    .windowDilations = toList(op.getWindowDilations()),
                                    .padding = toList(op.getPadding()),
                                    .body = op.getBody()};
}
static artifact::LibraryCall toCall(exec::SelectAndScatterOp op) {
  return artifact::SelectAndScatterCall{.windowDimensions = toList(op.getWindowDimensions()),
                                        .windowStrides = toList(op.getWindowStrides()),
                                        .padding = toList(op.getPadding()),
                                        .select = op.getSelect(),
                                        .scatter = op.getScatter()};
}
static artifact::LibraryCall toCall(exec::ScatterOp op) {
  return artifact::ScatterCall{.updateWindowDims = toList(op.getUpdateWindowDims()),
                               .insertedWindowDims = toList(op.getInsertedWindowDims()),
                               .inputBatchingDims = toList(op.getInputBatchingDims()),
                               .scatterIndicesBatchingDims =
                                   toList(op.getScatterIndicesBatchingDims()),
                               .scatterDimsToOperandDims = toList(op.getScatterDimsToOperandDims()),
                               .indexVectorDim = static_cast<int64_t>(op.getIndexVectorDim()),
                               .body = op.getBody()};
}
static artifact::LibraryCall toCall(exec::SortOp op) {
  return artifact::SortCall{.dimension = static_cast<int64_t>(op.getDimension()),
                            .comparator = op.getComparator(),
                            .comparatorOperand = static_cast<int64_t>(op.getComparatorOperand()),
                            .comparatorTotalOrder = op.getComparatorTotalOrder()};
}
static artifact::LibraryCall toCall(exec::TopKOp op) {
  return artifact::TopKCall{.k = static_cast<int64_t>(op.getK()), .largest = op.getLargest()};
}
static artifact::LibraryCall toCall(exec::RngOp op) {
  return artifact::RngCall{.rngDistribution = op.getRngDistribution()};
}
static artifact::LibraryCall toCall(exec::RngBitGeneratorOp op) {
  return artifact::RngBitGeneratorCall{.rngAlgorithm = op.getRngAlgorithm()};
}
static artifact::LibraryCall toCall(exec::FftOp op) {
  return artifact::FftCall{.fftType = op.getFftType(), .fftLength = toList(op.getFftLength())};
}
static artifact::LibraryCall toCall(exec::CholeskyOp op) {
  return artifact::CholeskyCall{.lower = op.getLower()};
}
static artifact::LibraryCall toCall(exec::TriangularSolveOp op) {
  return artifact::TriangularSolveCall{.leftSide = op.getLeftSide(),
                                       .lower = op.getLower(),
                                       .unitDiagonal = op.getUnitDiagonal(),
                                       .transposeA = op.getTransposeA()};
}
static artifact::LibraryCall toCall(exec::LapackOp op) {
  return artifact::LapackCall{.routine = op.getRoutine(),
                              .options = op.getOptions().str(),
                              .low = static_cast<int64_t>(op.getLow()),
                              .high = static_cast<int64_t>(op.getHigh())};
}

artifact::LibraryCall libraryCallOf(exec::LibraryCallOpInterface op) {
  // Lists all ops of LibraryOps.td, so that an op without a toCall() does not compile.
  return llvm::TypeSwitch<Operation *, artifact::LibraryCall>(op)
      .Case<
#define GET_OP_LIST
#include "tilewright/dialect/exec/LibraryOps.cpp.inc"
          >([](auto call) { return toCall(call); })
      .DefaultUnreachable("every library call is an op of LibraryOps.td");
}

} // namespace tilewright::driver
