#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

#include "tilewright/dialect/stablehlo/StablehloDialect.cpp.inc"

namespace tilewright::stablehlo {

void StablehloDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerCreationOps();
  registerUnaryOps();
  registerBinaryOps();
  registerDataMovementOps();
  registerIndexingOps();
  registerDynamicShapeOps();
  registerLinearAlgebraOps();
  registerReductionOps();
  registerControlFlowOps();
  registerCallOps();
  registerCollectiveOps();
}

Operation *StablehloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

} // namespace tilewright::stablehlo
