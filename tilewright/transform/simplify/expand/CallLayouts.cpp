// Inserts transposes, which kernels compute, to give a handler the layouts that it requests.
// Otherwise the host would have to reorder its buffers.
#include "tilewright/dialect/exec/CallLayouts.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/simplify/expand/Expand.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// The dimensions of a value from major to minor, if it is a tensor with a layout other than
/// row-major; otherwise empty.
SmallVector<int64_t> majorToMinor(std::optional<ArrayAttr> layouts, size_t number, Value value) {
  if (!layouts || number >= layouts->size() || !isa<RankedTensorType>(value.getType()))
    return {};
  SmallVector<int64_t> order;
  for (const APInt &dim : cast<DenseIntElementsAttr>((*layouts)[number]).getValues<APInt>())
    order.insert(order.begin(), dim.getSExtValue());
  return llvm::equal(order, llvm::seq<int64_t>(0, static_cast<int64_t>(order.size())))
             ? SmallVector<int64_t>()
             : order;
}

Type permuted(Type type, ArrayRef<int64_t> order) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(tensor.getDimSize(dim));
  return tensor.clone(shape);
}

} // namespace

LogicalResult transposeCallBuffers(stablehlo::CustomCallOp op, RewriterBase &rewriter) {
  if (op->hasAttr(exec::transposedAttr))
    return rewriter.notifyMatchFailure(op, "its buffers are already transposed");
  bool isRowMajor = true;
  SmallVector<Value> inputs;
  for (auto [number, input] : llvm::enumerate(op.getInputs())) {
    SmallVector<int64_t> order = majorToMinor(op.getOperandLayouts(), number, input);
    isRowMajor &= order.empty();
    inputs.push_back(
        order.empty() ? input
                      : stablehlo::TransposeOp::create(
                            rewriter, op.getLoc(), permuted(input.getType(), order), input, order)
                            .getResult());
  }
  SmallVector<Type> types;
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    SmallVector<int64_t> order = majorToMinor(op.getResultLayouts(), number, result);
    isRowMajor &= order.empty();
    types.push_back(order.empty() ? result.getType() : permuted(result.getType(), order));
  }
  if (isRowMajor)
    return rewriter.notifyMatchFailure(op,
                                       "it is not a known factorization, and a handler takes its "
                                       "row-major buffers as they are");
  auto call = cast<stablehlo::CustomCallOp>(
      rewriter.create(op.getLoc(), op->getName().getIdentifier(), inputs, types, op->getAttrs()));
  call->setAttr(exec::transposedAttr, rewriter.getUnitAttr());
  SmallVector<Value> results;
  for (auto [number, result] : llvm::enumerate(call.getResults())) {
    SmallVector<int64_t> order = majorToMinor(op.getResultLayouts(), number, op->getResult(number));
    results.push_back(order.empty() ? Value(result)
                                    : stablehlo::TransposeOp::create(
                                          rewriter, op.getLoc(), op->getResult(number).getType(),
                                          result, invertPermutationVector(order))
                                          .getResult());
  }
  rewriter.replaceOp(op, results);
  return success();
}

} // namespace tilewright::simplify
