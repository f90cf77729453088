#include "tilewright/dialect/stablehlo/StablehloTraits.h"

#include "tilewright/dialect/stablehlo/StablehloTypes.h"

using namespace mlir;

namespace tilewright::stablehlo::detail {

LogicalResult verifySameBaselineElementType(Operation *op) {
  Type first;
  auto check = [&](Type type) -> LogicalResult {
    Type element = getElementTypeOrSelf(type);
    if (!first)
      first = element;
    if (haveSameBaseline(first, element))
      return success();
    return op->emitOpError() << "requires one element type for all operands and results, got "
                             << first << " and " << element;
  };
  for (Type type : op->getOperandTypes())
    if (failed(check(type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
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
