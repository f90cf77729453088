#include "tilewright/transform/fuse/PackedRows.h"

#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Packing.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::fuse {

std::optional<RankedTensorType> rowsOf(RankedTensorType array, int64_t leading) {
  if (!isNarrow(array) || leading < 0 || leading > array.getRank())
    return std::nullopt;
  const auto kept = static_cast<size_t>(leading);
  const int64_t bits = ShapedType::getNumElements(array.getShape().drop_front(kept)) *
                       array.getElementTypeBitWidth();
  if (bits % 8 != 0)
    return std::nullopt;
  SmallVector<int64_t> shape(array.getShape().take_front(kept));
  shape.push_back(bits / 8);
  return RankedTensorType::get(shape, packedType(array).getElementType());
}

std::optional<int64_t> rowsOf(stablehlo::DynamicUpdateSliceOp op) {
  const RankedTensorType whole = op.getType(), part = typeOf(op.getUpdate());
  int64_t leading = whole.getRank();
  while (leading > 0 && whole.getDimSize(leading - 1) == part.getDimSize(leading - 1))
    --leading;
  if (!isNarrow(part) || !rowsOf(whole, leading))
    return std::nullopt;
  return leading;
}

std::optional<int64_t> rowsOf(stablehlo::GatherOp op) {
  const RankedTensorType array = typeOf(op.getOperand()), result = op.getType();
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  int64_t leading = array.getRank(), last = result.getRank();
  // The number of innermost dimensions of both tensors that the gather copies as a whole.
  while (leading > 0 && last > 0 && llvm::is_contained(numbers.getOffsetDims(), last - 1) &&
         !llvm::is_contained(numbers.getCollapsedSliceDims(), leading - 1) &&
         !llvm::is_contained(numbers.getOperandBatchingDims(), leading - 1) &&
         op.getSliceSizes()[static_cast<size_t>(leading - 1)] == array.getDimSize(leading - 1)) {
    --leading;
    --last;
  }
  // The index of a dimension that is copied whole is clamped to 0; it can be omitted only together
  // with the dimension.
  if (llvm::any_of(numbers.getStartIndexMap(), [&](int64_t dim) { return dim >= leading; }) ||
      !isNarrow(result) || !rowsOf(array, leading))
    return std::nullopt;
  return leading;
}

std::optional<int64_t> rowsOfCollective(Operation *op) {
  if (!isa<stablehlo::AllGatherOp, stablehlo::AllToAllOp, stablehlo::CollectivePermuteOp,
           stablehlo::CollectiveBroadcastOp>(op))
    return std::nullopt;
  auto fits = [&](int64_t leading) {
    return llvm::all_of(
        llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())),
        [&](Value value) {
          auto type = dyn_cast<RankedTensorType>(value.getType());
          return type && rowsOf(type, leading);
        });
  };
  // The innermost dimension along which the op divides or joins arrays. It may be the dimension of
  // bytes itself, if every piece consists of whole bytes.
  int64_t last = -1, pieces = 1;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    last = static_cast<int64_t>(gather.getAllGatherDim());
  } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
    const auto split = static_cast<int64_t>(all.getSplitDimension());
    last = std::max(split, static_cast<int64_t>(all.getConcatDimension()));
    pieces = split == last ? static_cast<int64_t>(all.getSplitCount()) : 1;
  }
  if (fits(last + 1))
    return last + 1;
  auto isLast = [&](Value value) {
    const RankedTensorType type = typeOf(value);
    return last + 1 == type.getRank() && rowsOf(type, last)->getShape().back() % pieces == 0;
  };
  if (last >= 0 && fits(last) && llvm::all_of(op->getOperands(), isLast))
    return last;
  return std::nullopt;
}

Value updateRows(OpBuilder &builder, stablehlo::DynamicUpdateSliceOp op, Value array, Value part) {
  const auto leading = static_cast<size_t>(typeOf(array).getRank() - 1);
  SmallVector<Value> starts(op.getStartIndices().take_front(leading));
  // All start indices have the same type.
  const Type index = op.getStartIndices().empty()
                         ? Type(RankedTensorType::get({}, builder.getI32Type()))
                         : op.getStartIndices()[0].getType();
  starts.push_back(stablehlo::ConstantOp::create(
      builder, op.getLoc(), cast<DenseElementsAttr>(builder.getZeroAttr(index))));
  return stablehlo::DynamicUpdateSliceOp::create(builder, op.getLoc(), array.getType(), array, part,
                                                 starts);
}

Value gatherRows(OpBuilder &builder, stablehlo::GatherOp op, Value array) {
  const RankedTensorType rows = typeOf(array);
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  const int64_t merged = typeOf(op.getOperand()).getRank() - (rows.getRank() - 1);
  SmallVector<int64_t> sizes(op.getSliceSizes().drop_back(static_cast<size_t>(merged)));
  sizes.push_back(rows.getShape().back());
  SmallVector<int64_t> shape(op.getType().getShape().drop_back(static_cast<size_t>(merged)));
  SmallVector<int64_t> offsets(numbers.getOffsetDims().drop_back(static_cast<size_t>(merged)));
  offsets.push_back(static_cast<int64_t>(shape.size()));
  shape.push_back(rows.getShape().back());
  auto changed = stablehlo::GatherDimensionNumbersAttr::get(
      op.getContext(), offsets, numbers.getCollapsedSliceDims(), numbers.getOperandBatchingDims(),
      numbers.getStartIndicesBatchingDims(), numbers.getStartIndexMap(),
      numbers.getIndexVectorDim());
  return stablehlo::GatherOp::create(builder, op.getLoc(), rows.clone(shape), array,
                                     op.getStartIndices(), changed, sizes,
                                     op.getIndicesAreSorted());
}

} // namespace tilewright::fuse
