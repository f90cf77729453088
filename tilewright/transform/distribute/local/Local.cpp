#include "tilewright/transform/distribute/local/Local.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/distribute/FoldSlices.h"
#include "tilewright/transform/distribute/local/Forms.h"
#include "tilewright/transform/distribute/local/LocalBuilder.h"
#include "tilewright/transform/distribute/local/Masked.h"
#include "tilewright/transform/distribute/local/Merged.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {

/// Clones the decomposition for the shard: every tensor of the global shape gets the shard's shape.
static void fitDecomposition(stablehlo::CompositeOp op) {
  func::FuncOp global =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  ArrayRef<int64_t> from = shapeOf(global.getArgument(0)), to = shapeOf(op.getResult(0));
  if (from == to)
    return;
  func::FuncOp shard = global.clone();
  auto fit = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == from)
      value.setType(type.clone(to));
  };
  fit(shard.getArgument(0));
  for (Operation &inner : shard.front().without_terminator()) {
    llvm::for_each(inner.getResults(), fit);
    fitAttributes(&inner);
  }
  shard.setType(FunctionType::get(op->getContext(), op->getOperandTypes(), op->getResultTypes()));
  SymbolTable symbols(op->getParentOfType<ModuleOp>());
  op.setDecomposition(symbols.insert(shard).getValue());
}

void fitAttributes(Operation *op) {
  Builder builder(op->getContext());
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    // The op does not slice a sharded dimension, so its limit is the size of the shard.
    SmallVector<int64_t> limits(slice.getLimitIndices());
    for (auto [dim, limit] : llvm::enumerate(limits))
      if (slice.getStartIndices()[dim] == 0 && slice.getStrides()[dim] == 1)
        limit = shapeOf(slice.getResult())[dim];
    slice.setLimitIndices(limits);
  } else if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op)) {
    slice.setSliceSizes(shapeOf(slice.getResult()));
  } else if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
    SmallVector<int64_t> sizes(gather.getSliceSizes());
    for (auto [size, operand] : llvm::zip_equal(sizes, shapeOf(gather.getOperand())))
      size = std::min(size, operand);
    gather.setSliceSizes(sizes);
  } else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
    fitDecomposition(composite);
  } else if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto type = cast<RankedTensorType>(constant.getType());
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  }
}

/// Adds the offset of the shard to an iota along a sharded dimension. Positions are integers until
/// they are whole: a float would round the offset and the sum.
static Status computeIota(stablehlo::IotaOp op, const OpPlan &plan, ShardBuilder &shards) {
  const auto dim = static_cast<size_t>(op.getIotaDimension());
  const Sharding sharding = plan.shardingOf(plan.rule.results[0]);
  if (sharding.along(dim).empty())
    return Status();
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  auto type = cast<RankedTensorType>(op.getType());
  const int64_t rows = type.getShape()[dim];
  const unsigned width = positionWidth(rows * sharding.count(dim));
  Value start = shards.shardOffset(builder, op.getLoc(), sharding, dim, rows, width);
  const Type counted = isa<IntegerType>(type.getElementType()) ? type.getElementType()
                                                               : builder.getIntegerType(width);
  Value positions =
      b.ShapedBuilder::iota(cast<RankedTensorType>(type.clone(counted)), static_cast<int64_t>(dim));
  positions = b.add(positions, b.broadcast(b.convert(start, counted), type.getShape()));
  op.getResult().replaceAllUsesWith(b.convert(positions, type.getElementType()));
  op.erase();
  return Status();
}

int64_t localWireBytes(Operation *op, const OpPlan &plan) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<stablehlo::ReduceOp, stablehlo::CompositeOp>(
          [&](Operation *op) { return mergedWireBytes(op, plan); })
      .Case([&](stablehlo::ReduceWindowOp op) {
        return scanFormOf(op, shapeOf(op.getInputs()[0])) ? mergedWireBytes(op, plan)
                                                          : rowsWireBytes(op, plan);
      })
      .Default([&](Operation *op) { return rowsWireBytes(op, plan); });
}

Status computeLocally(Operation *op, const OpPlan &plan, ShardBuilder &shards) {
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](stablehlo::IotaOp op) { return computeIota(op, plan, shards); })
      .Case([&](stablehlo::DynamicSliceOp op) { return computeDynamicSlice(op, plan, shards); })
      .Case([&](stablehlo::DynamicUpdateSliceOp op) {
        return computeDynamicUpdate(op, plan, shards);
      })
      .Case([&](stablehlo::GatherOp op) { return computeGather(op, plan, shards); })
      .Case([&](stablehlo::ScatterOp op) { return computeScatter(op, plan, shards); })
      .Case([&](stablehlo::ReduceOp op) { return computeReduce(op, plan, shards); })
      .Case([&](stablehlo::CompositeOp op) {
        if (topKSortOf(op))
          return computeTopK(op, plan, shards);
        fitAttributes(op);
        return Status();
      })
      .Case([&](stablehlo::SliceOp op) { return computeSlice(op, plan, shards); })
      .Case([&](stablehlo::PadOp op) { return computePad(op, plan, shards); })
      .Case([&](stablehlo::ReverseOp op) { return computeReverse(op, plan, shards); })
      .Case([&](stablehlo::ConcatenateOp op) { return computeConcatenate(op, plan, shards); })
      .Case([&](stablehlo::ReduceWindowOp op) {
        SmallVector<int64_t> whole(shapeOf(op.getInputs()[0]));
        const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
        for (auto [dim, size] : llvm::enumerate(whole))
          size *= sharding.count(dim);
        return scanFormOf(op, whole) ? computeScan(op, plan, shards)
                                     : computeReduceWindow(op, plan, shards);
      })
      .Case([&](stablehlo::SelectAndScatterOp op) {
        return computeSelectAndScatter(op, plan, shards);
      })
      .Case([&](stablehlo::ConvolutionOp op) { return computeConvolution(op, plan, shards); })
      .Case([&](stablehlo::RngBitGeneratorOp op) { return computeRandomBits(op, plan, shards); })
      .Case([&](stablehlo::CustomCallOp op) {
        return FoldedSlices::of(op) ? computeFoldedSlices(op, plan, shards) : Status();
      })
      .Default([](Operation *op) {
        fitAttributes(op);
        return Status();
      });
}

} // namespace tilewright::distribute
