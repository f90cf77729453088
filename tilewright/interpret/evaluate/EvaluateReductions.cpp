#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Elementwise.h"
#include "tilewright/interpret/kernels/Reduce.h"
#include "tilewright/interpret/kernels/ReduceWindow.h"
#include "tilewright/interpret/kernels/Sort.h"

namespace tilewright::interpret {

/// The list with one number per dimension, or `rank` times `otherwise` if the attribute is absent.
static std::vector<int64_t> listOr(std::optional<llvm::ArrayRef<int64_t>> list, size_t rank,
                                   int64_t otherwise) {
  return list ? list->vec() : std::vector<int64_t>(rank, otherwise);
}

static std::vector<WindowDimension> windowOf(llvm::ArrayRef<int64_t> sizes,
                                             std::optional<llvm::ArrayRef<int64_t>> strides,
                                             std::optional<llvm::ArrayRef<int64_t>> baseDilations,
                                             std::optional<llvm::ArrayRef<int64_t>> windowDilations,
                                             std::optional<mlir::DenseIntElementsAttr> padding) {
  const size_t rank = sizes.size();
  const std::vector<int64_t> stride = listOr(strides, rank, 1);
  const std::vector<int64_t> base = listOr(baseDilations, rank, 1);
  const std::vector<int64_t> dilation = listOr(windowDilations, rank, 1);
  const std::vector<int64_t> pads =
      padding ? integersOf(*padding) : std::vector<int64_t>(2 * rank, 0);
  std::vector<WindowDimension> window;
  for (size_t i = 0; i < rank; ++i)
    window.push_back({sizes[i], stride[i], base[i], dilation[i], pads[2 * i], pads[2 * i + 1]});
  return window;
}

static Status evaluateMap(stablehlo::MapOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getComputation()));
  return call.give(elementwise(body, call.tensors(), call.context()));
}

static Status evaluateReduce(stablehlo::ReduceOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getBody()));
  const size_t count = call.operands.size() / 2;
  return call.give(reduce(call.tensors(0, count), call.tensors(count, count), op.getDimensions(),
                          body, call.context()));
}

static Status evaluateReduceWindow(stablehlo::ReduceWindowOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ScalarFunction body, call.scalarFunction(op.getBody()));
  const size_t count = call.operands.size() / 2;
  return call.give(
      reduceWindow(call.tensors(0, count), call.tensors(count, count),
                   windowOf(op.getWindowDimensions(), op.getWindowStrides(), op.getBaseDilations(),
                            op.getWindowDilations(), op.getPadding()),
                   body, call.context()));
}

static Status evaluateSelectAndScatter(stablehlo::SelectAndScatterOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ScalarFunction select, call.scalarFunction(op.getSelect()));
  TILEWRIGHT_ASSIGN(ScalarFunction scatter, call.scalarFunction(op.getScatter()));
  const std::vector<int64_t> sizes =
      listOr(op.getWindowDimensions(), static_cast<size_t>(call.tensor(0).rank()), 1);
  return call.give(selectAndScatter(
      call.tensor(0), call.tensor(1), call.tensor(2),
      windowOf(sizes, op.getWindowStrides(), std::nullopt, std::nullopt, op.getPadding()), select,
      scatter, call.context()));
}

static Status evaluateSort(stablehlo::SortOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ScalarFunction comparator, call.scalarFunction(op.getComparator()));
  return call.give(
      sort(call.tensors(), static_cast<int64_t>(op.getDimension()), comparator, call.context()));
}

void addReductionHandlers(HandlerTable &table) {
  add<stablehlo::MapOp, evaluateMap>(table);
  add<stablehlo::ReduceOp, evaluateReduce>(table);
  add<stablehlo::ReduceWindowOp, evaluateReduceWindow>(table);
  add<stablehlo::SortOp, evaluateSort>(table);
  add<stablehlo::SelectAndScatterOp, evaluateSelectAndScatter>(table);
}

} // namespace tilewright::interpret
