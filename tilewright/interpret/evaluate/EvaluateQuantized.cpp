// Quantized tensors are kept as tensors of their storage type. Data movement works on the storage;
// arithmetic works on the expressed values.
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Quantize.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

namespace tilewright::interpret {

/// The quantized element type of a tensor type, or null.
static mlir::quant::QuantizedType quantizedElementOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? llvm::dyn_cast<mlir::quant::QuantizedType>(tensor.getElementType())
                : mlir::quant::QuantizedType();
}

static Result<QuantizedType> parametersOf(mlir::quant::QuantizedType type) {
  std::optional<ElementType> storage = elementTypeOf(type);
  std::optional<ElementType> expressed = elementTypeOf(type.getExpressedType());
  QuantizedType parameters;
  if (auto perTensor = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    parameters.scales = {perTensor.getScale()};
    parameters.zeroPoints = {perTensor.getZeroPoint()};
  } else if (auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    parameters.scales = std::vector<double>(perAxis.getScales());
    parameters.zeroPoints = std::vector<int64_t>(perAxis.getZeroPoints());
    parameters.axis = perAxis.getQuantizedDimension();
  } else {
    storage.reset();
  }
  if (!storage || !expressed)
    return Status(Error::interpretOp,
                  "a quantized type must be uniform, with supported storage and expressed types");
  parameters.storage = *storage;
  parameters.expressed = *expressed;
  parameters.storageMin = type.getStorageTypeMin();
  parameters.storageMax = type.getStorageTypeMax();
  return parameters;
}

Status onExpressedValues(OpCall &call, Handler handler) {
  bool anyQuantized = false;
  for (unsigned i = 0; i < call.operands.size(); ++i) {
    mlir::quant::QuantizedType type = quantizedElementOf(call.op->getOperand(i).getType());
    if (!type)
      continue;
    anyQuantized = true;
    TILEWRIGHT_ASSIGN(QuantizedType parameters, parametersOf(type));
    TILEWRIGHT_ASSIGN(Tensor expressed, dequantize(call.tensor(i), parameters, call.context()));
    call.operands[i] = std::move(expressed);
  }
  for (mlir::Type type : call.op->getResultTypes())
    anyQuantized |= quantizedElementOf(type) != nullptr;
  if (!anyQuantized)
    return handler(call);

  call.givesExpressedValues = true;
  TILEWRIGHT_TRY(handler(call));
  for (unsigned i = 0; i < call.results.size(); ++i) {
    mlir::quant::QuantizedType type = quantizedElementOf(call.op->getResult(i).getType());
    if (!type)
      continue;
    TILEWRIGHT_ASSIGN(QuantizedType parameters, parametersOf(type));
    TILEWRIGHT_ASSIGN(Tensor stored,
                      quantize(call.results[i].tensor(), parameters, call.context()));
    call.results[i] = std::move(stored);
  }
  return Status();
}

/// Both conversions are the identity on expressed values.
static Status passOn(OpCall &call) {
  call.results = std::move(call.operands);
  return Status();
}

void addQuantizedHandlers(HandlerTable &table) {
  auto convert = [](OpCall &call) { return onExpressedValues(call, passOn); };
  table[stablehlo::UniformQuantizeOp::getOperationName()] = convert;
  table[stablehlo::UniformDequantizeOp::getOperationName()] = convert;
}

} // namespace tilewright::interpret
