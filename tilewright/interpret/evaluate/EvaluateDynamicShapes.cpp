// Ops whose shapes are runtime values.
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

void addDynamicShapeHandlers(HandlerTable &table) {
  add<stablehlo::GetDimensionSizeOp>(table, [](stablehlo::GetDimensionSizeOp op, OpCall &call) {
    const int64_t size = call.tensor(0).shape()[static_cast<int64_t>(op.getDimension())];
    if (size > std::numeric_limits<int32_t>::max())
      return Status(Error::interpretShape, concat("dimension ", op.getDimension(), " has size ",
                                                  size, ", which does not fit the i32 result"));
    return call.give(Tensor::scalar(ElementType::i32, Scalar::ofSigned(size), call.context()));
  });
  add<stablehlo::SetDimensionSizeOp>(table, [](stablehlo::SetDimensionSizeOp op, OpCall &call) {
    return call.give(setDimensionSize(call.tensor(0), static_cast<int64_t>(op.getDimension()),
                                      call.tensor(1).indexAt(0), call.context()));
  });
  add<stablehlo::DynamicBroadcastInDimOp>(
      table, [](stablehlo::DynamicBroadcastInDimOp op, OpCall &call) {
        TILEWRIGHT_ASSIGN(Shape shape, Shape::create(call.integers(1)));
        return call.give(broadcastInDim(call.tensor(0), op.getBroadcastDimensions(),
                                        std::move(shape), call.context()));
      });
  add<stablehlo::DynamicIotaOp>(table, [](stablehlo::DynamicIotaOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(call.integers(0)));
    return call.give(iota(call.resultElementType(), std::move(shape),
                          static_cast<int64_t>(op.getIotaDimension()), call.context()));
  });
  add<stablehlo::DynamicPadOp>(table, [](stablehlo::DynamicPadOp op, OpCall &call) {
    return call.give(pad(call.tensor(0), call.tensor(1), call.integers(2), call.integers(3),
                         call.integers(4), call.context()));
  });
  add<stablehlo::DynamicReshapeOp>(table, [](stablehlo::DynamicReshapeOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(call.integers(1)));
    return call.give(reshape(call.tensor(0), std::move(shape)));
  });
  add<stablehlo::RealDynamicSliceOp>(table, [](stablehlo::RealDynamicSliceOp op, OpCall &call) {
    return call.give(slice(call.tensor(0), call.integers(1), call.integers(2), call.integers(3),
                           call.context()));
  });
}

} // namespace tilewright::interpret
