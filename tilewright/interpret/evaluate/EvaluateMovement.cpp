#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Movement.h"

#include <numeric>

namespace tilewright::interpret {

void addMovementHandlers(HandlerTable &table) {
  add<stablehlo::ConstantOp>(table, [](stablehlo::ConstantOp op, OpCall &call) {
    return call.give(constantTensor(op.getValue(), call.context()));
  });
  add<stablehlo::IotaOp>(table, [](stablehlo::IotaOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape());
    return call.give(iota(call.resultElementType(), std::move(shape),
                          static_cast<int64_t>(op.getIotaDimension()), call.context()));
  });
  add<stablehlo::BroadcastOp>(table, [](stablehlo::BroadcastOp op, OpCall &call) {
    const Tensor &operand = call.tensor(0);
    std::vector<int64_t> dims(op.getBroadcastSizes());
    dims.insert(dims.end(), operand.shape().dims().begin(), operand.shape().dims().end());
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
    std::vector<int64_t> dimensions(static_cast<size_t>(operand.rank()));
    std::iota(dimensions.begin(), dimensions.end(),
              static_cast<int64_t>(op.getBroadcastSizes().size()));
    return call.give(broadcastInDim(operand, dimensions, std::move(shape), call.context()));
  });
  add<stablehlo::BroadcastInDimOp>(table, [](stablehlo::BroadcastInDimOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape());
    return call.give(broadcastInDim(call.tensor(0), op.getBroadcastDimensions(), std::move(shape),
                                    call.context()));
  });
  add<stablehlo::ConcatenateOp>(table, [](stablehlo::ConcatenateOp op, OpCall &call) {
    return call.give(
        concatenate(call.tensors(), static_cast<int64_t>(op.getDimension()), call.context()));
  });
  add<stablehlo::PadOp>(table, [](stablehlo::PadOp op, OpCall &call) {
    return call.give(pad(call.tensor(0), call.tensor(1), op.getEdgePaddingLow(),
                         op.getEdgePaddingHigh(), op.getInteriorPadding(), call.context()));
  });
  add<stablehlo::ReshapeOp>(table, [](stablehlo::ReshapeOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(Shape shape, call.resultShape());
    return call.give(reshape(call.tensor(0), std::move(shape)));
  });
  add<stablehlo::ReverseOp>(table, [](stablehlo::ReverseOp op, OpCall &call) {
    return call.give(reverse(call.tensor(0), op.getDimensions(), call.context()));
  });
  add<stablehlo::SliceOp>(table, [](stablehlo::SliceOp op, OpCall &call) {
    return call.give(slice(call.tensor(0), op.getStartIndices(), op.getLimitIndices(),
                           op.getStrides(), call.context()));
  });
  add<stablehlo::TransposeOp>(table, [](stablehlo::TransposeOp op, OpCall &call) {
    return call.give(transpose(call.tensor(0), op.getPermutation(), call.context()));
  });
}

} // namespace tilewright::interpret
