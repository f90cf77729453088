#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/evaluate/ScalarOps.h"
#include "tilewright/interpret/kernels/Elementwise.h"

namespace tilewright::interpret {

static Status evaluateElementwise(OpCall &call) {
  return onExpressedValues(call, [](OpCall &call) {
    return call.give(elementwise(*scalarOpOf(call.op), call.tensors(), call.resultElementType(),
                                 call.context()));
  });
}

static Status evaluateReducePrecision(stablehlo::ReducePrecisionOp op, OpCall &call) {
  std::vector<Tensor> operands = call.tensors();
  for (uint32_t bits : {op.getExponentBits(), op.getMantissaBits()}) {
    TILEWRIGHT_ASSIGN(Tensor tensor,
                      Tensor::scalar(ElementType::ui64, Scalar::ofUnsigned(bits), call.context()));
    operands.push_back(std::move(tensor));
  }
  return call.give(
      elementwise(ScalarOp::reducePrecision, operands, call.resultElementType(), call.context()));
}

void addElementwiseHandlers(HandlerTable &table) {
  for (const NamedScalarOp &entry : namedScalarOps())
    table[entry.name] = evaluateElementwise;
  table[stablehlo::CompareOp::getOperationName()] = evaluateElementwise;

  addArithmetic<stablehlo::ReducePrecisionOp, evaluateReducePrecision>(table);

  add<stablehlo::BitcastConvertOp>(table, [](stablehlo::BitcastConvertOp op, OpCall &call) {
    const Tensor &operand = call.tensor(0);
    std::vector<int64_t> dims(operand.shape().dims().begin(), operand.shape().dims().end());
    const ElementType result = call.resultElementType();
    const unsigned from = numerics::bitWidth(operand.type()), to = numerics::bitWidth(result);
    if (from > to)
      dims.push_back(from / to);
    else if (from < to)
      dims.pop_back();
    TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
    return call.give(bitcastConvert(operand, result, std::move(shape), call.context()));
  });
}

} // namespace tilewright::interpret
