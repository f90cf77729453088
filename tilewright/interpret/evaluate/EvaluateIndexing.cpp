#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/kernels/Gather.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/interpret/kernels/Scatter.h"

namespace tilewright::interpret {

/// Scalar operands `first`, `first + 1`, … as one index.
static std::vector<int64_t> indexFrom(const OpCall &call, size_t first) {
  std::vector<int64_t> index;
  for (size_t i = first; i < call.operands.size(); ++i)
    index.push_back(call.tensor(i).indexAt(0));
  return index;
}

static GatherDimensions dimensionsOf(stablehlo::GatherDimensionNumbersAttr numbers) {
  return {numbers.getOffsetDims().vec(),          numbers.getCollapsedSliceDims().vec(),
          numbers.getOperandBatchingDims().vec(), numbers.getStartIndicesBatchingDims().vec(),
          numbers.getStartIndexMap().vec(),       numbers.getIndexVectorDim()};
}

static Status evaluateScatter(stablehlo::ScatterOp op, OpCall &call) {
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  const ScatterDimensions dimensions{
      numbers.getUpdateWindowDims().vec(),         numbers.getInsertedWindowDims().vec(),
      numbers.getInputBatchingDims().vec(),        numbers.getScatterIndicesBatchingDims().vec(),
      numbers.getScatterDimsToOperandDims().vec(), numbers.getIndexVectorDim()};
  TILEWRIGHT_ASSIGN(ScalarFunction update, call.scalarFunction(op.getUpdateComputation()));
  const size_t count = op.getInputs().size();
  return call.give(scatter(call.tensors(0, count), call.tensor(count),
                           call.tensors(count + 1, count), dimensions, update, call.context()));
}

void addIndexingHandlers(HandlerTable &table) {
  add<stablehlo::DynamicSliceOp>(table, [](stablehlo::DynamicSliceOp op, OpCall &call) {
    return call.give(
        dynamicSlice(call.tensor(0), indexFrom(call, 1), op.getSliceSizes(), call.context()));
  });
  add<stablehlo::DynamicUpdateSliceOp>(table, [](stablehlo::DynamicUpdateSliceOp op, OpCall &call) {
    return call.give(dynamicUpdateSlice(call.operands[0].takeTensor(), call.tensor(1),
                                        indexFrom(call, 2), call.context()));
  });
  add<stablehlo::GatherOp>(table, [](stablehlo::GatherOp op, OpCall &call) {
    return call.give(gather(call.tensor(0), call.tensor(1), dimensionsOf(op.getDimensionNumbers()),
                            op.getSliceSizes(), call.context()));
  });
  add<stablehlo::DynamicGatherOp>(table, [](stablehlo::DynamicGatherOp op, OpCall &call) {
    return call.give(gather(call.tensor(0), call.tensor(1), dimensionsOf(op.getDimensionNumbers()),
                            call.integers(2), call.context()));
  });
  add<stablehlo::ScatterOp, evaluateScatter>(table);
  add<stablehlo::TorchIndexSelectOp>(table, [](stablehlo::TorchIndexSelectOp op, OpCall &call) {
    return call.give(torchIndexSelect(call.tensor(0), call.tensor(1),
                                      static_cast<int64_t>(op.getDim()),
                                      static_cast<int64_t>(op.getBatchDims()), call.context()));
  });
}

} // namespace tilewright::interpret
