#include "tilewright/dialect/exec/SoftmaxOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/SoftmaxOps.cpp.inc"

namespace tilewright::exec {

/// Checks the sizes, and the dimensions of each tensor.
template <typename Op>
static LogicalResult verifyDims(Op op, unsigned minOperands, ArrayRef<Type> results) {
  ArrayRef<int64_t> sizes = op.getSizes();
  SmallVector<Type> types(op.getOperandTypes());
  types.append(results.begin(), results.end());
  if (op->getNumOperands() < minOperands)
    return op.emitOpError() << "needs at least " << minOperands << " operands, got "
                            << op->getNumOperands();
  if (sizes.size() < 4)
    return op.emitOpError() << "needs the sizes of queries, keys, depth and width, got "
                            << sizes.size() << " sizes";
  if (op.getDims().size() != types.size())
    return op.emitOpError() << "needs dimensions of " << op->getNumOperands() << " operands and "
                            << results.size() << " results, got " << op.getDims().size()
                            << " lists";
  for (auto [number, attribute] : llvm::enumerate(op.getDims())) {
    ArrayRef<int64_t> dims = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    auto type = cast<RankedTensorType>(types[number]);
    if (static_cast<int64_t>(dims.size()) != type.getRank())
      return op.emitOpError() << "has " << dims.size() << " dimensions for tensor " << number
                              << ", which is " << type;
    for (auto [dim, size] : llvm::zip(dims, type.getShape())) {
      if (dim >= static_cast<int64_t>(sizes.size()))
        return op.emitOpError() << "names dimension " << dim << ", but has " << sizes.size();
      const int64_t expected = dim < 0 ? 1 : sizes[static_cast<size_t>(dim)];
      if (size != expected)
        return op.emitOpError() << "needs a size of " << expected << " for dimension " << dim
                                << " of tensor " << number << ", got " << size;
    }
  }
  return success();
}

/// Checks that the body's arguments are `floats` products, two numbers, and an element of each
/// input.
template <typename Op> static LogicalResult verifyBody(Op op, unsigned floats, size_t inputs) {
  Block &block = op.getBody().front();
  const size_t expected = floats + 2 + inputs;
  if (block.getNumArguments() != expected)
    return op.emitOpError() << "needs a body of " << expected << " arguments: " << floats
                            << " products, the numbers of query and key, and " << inputs
                            << " elements, got " << block.getNumArguments();
  for (unsigned i = 0; i < floats + 2; ++i)
    if (Type type = block.getArgument(i).getType();
        i < floats ? !type.isF32() : !type.isSignlessInteger(32))
      return op.emitOpError() << "needs a body whose argument " << i << " is "
                              << (i < floats ? "f32" : "i32") << ", got " << type;
  return success();
}

LogicalResult SoftmaxDotOp::verify() {
  if (failed(verifyDims(*this, 3, {getResult().getType()})) ||
      failed(verifyBody(*this, 1, getNumOperands() - 3)))
    return failure();
  auto rows = RankedTensorType::get(getSizes().drop_back(3), Float32Type::get(getContext()));
  if ((getRowValues().size() != 0 && getRowValues().size() != 2) ||
      llvm::any_of(getRowValues().getTypes(), [&](Type type) { return type != rows; }))
    return emitOpError() << "needs no more results, or two of " << rows;
  auto yield = cast<YieldScoreOp>(getBody().front().getTerminator());
  if (static_cast<bool>(yield.getVisible()) != getMaskedScore().has_value())
    return emitOpError("needs a masked score if, and only if, its body yields visibility");
  return success();
}

LogicalResult SoftmaxDotBackwardOp::verify() {
  if (failed(verifyDims(*this, 5, SmallVector<Type>(getResultTypes()))) ||
      failed(verifyBody(*this, 3, getNumOperands() - 5)))
    return failure();
  if (getGradients().size() != getNumResults())
    return emitOpError() << "lists " << getGradients().size() << " gradients, but has "
                         << getNumResults() << " results";
  int64_t last = -1;
  for (int64_t gradient : getGradients()) {
    if (gradient <= last || gradient > 3)
      return emitOpError("needs gradients in ascending order, each of 0, 1, 2 and 3 at most once");
    last = gradient;
  }
  return success();
}

} // namespace tilewright::exec
