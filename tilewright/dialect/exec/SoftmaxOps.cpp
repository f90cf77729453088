#include "tilewright/dialect/exec/SoftmaxOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/SoftmaxOps.cpp.inc"

namespace tilewright::exec {

LogicalResult SoftmaxDotOp::verify() {
  const size_t operands = getOperands().size();
  if (operands < 3)
    return emitOpError() << "needs queries, keys and values, got " << operands << " operands";
  if (getSizes().size() < 4)
    return emitOpError() << "needs the sizes of queries, keys, depth and width, got "
                         << getSizes().size() << " sizes";
  if (getDims().size() != operands + 1)
    return emitOpError() << "needs dimensions of " << operands << " operands and a result, got "
                         << getDims().size() << " lists";
  for (auto [number, attribute] : llvm::enumerate(getDims())) {
    ArrayRef<int64_t> dims = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    auto type = cast<RankedTensorType>(number < operands ? getOperand(number).getType()
                                                         : getResult().getType());
    if (static_cast<int64_t>(dims.size()) != type.getRank())
      return emitOpError() << "has " << dims.size() << " dimensions for tensor " << number
                           << ", which is " << type;
    for (auto [dim, size] : llvm::zip(dims, type.getShape())) {
      if (dim >= static_cast<int64_t>(getSizes().size()))
        return emitOpError() << "names dimension " << dim << ", but has " << getSizes().size();
      const int64_t expected = dim < 0 ? 1 : getSizes()[static_cast<size_t>(dim)];
      if (size != expected)
        return emitOpError() << "needs a size of " << expected << " for dimension " << dim
                             << " of tensor " << number << ", got " << size;
    }
  }
  Block &block = getBody().front();
  if (block.getNumArguments() != operands)
    return emitOpError() << "needs a body of " << operands
                         << " arguments: the product, the numbers of query and key, and "
                         << operands - 3 << " elements, got " << block.getNumArguments();
  if (!block.getArgument(0).getType().isF32() ||
      !block.getArgument(1).getType().isSignlessInteger(32) ||
      !block.getArgument(2).getType().isSignlessInteger(32))
    return emitOpError("needs a body whose first arguments are f32, i32 and i32");
  auto yield = cast<YieldScoreOp>(block.getTerminator());
  if (static_cast<bool>(yield.getVisible()) != getMaskedScore().has_value())
    return emitOpError("needs a masked score if, and only if, its body yields visibility");
  return success();
}

} // namespace tilewright::exec
