#include "tilewright/dialect/stablehlo/StablehloTraits.h"

#include "tilewright/dialect/stablehlo/StablehloTypes.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

using namespace mlir;

namespace tilewright::stablehlo::detail {

/// Checks each operand and result type against the first with `agree`.
static LogicalResult verifyAllLikeFirst(Operation *op, StringRef rule,
                                        llvm::function_ref<bool(Type, Type)> agree) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types)
    if (!agree(types.front(), type))
      return op->emitOpError() << rule << ", got " << types.front() << " and " << type;
  return success();
}

// Checks the shapes in (C1) of elementwise ops, `baseline_type(operand) = baseline_type(result)`.
LogicalResult verifySameShape(Operation *op) {
  return verifyAllLikeFirst(
      op, "operands and results must have the same shape",
      [](Type first, Type type) { return shapesAgree(shapeOf(first), shapeOf(type)); });
}

// Checks the element types in the same constraint.
LogicalResult verifySameBaselineElementType(Operation *op) {
  return verifyAllLikeFirst(
      op, "operands and results must have the same element type",
      [](Type first, Type type) { return haveSameBaseline(elementOf(first), elementOf(type)); });
}

bool allShapesStatic(Operation *op) {
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || (shaped.hasRank() && shaped.hasStaticShape());
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

} // namespace tilewright::stablehlo::detail
