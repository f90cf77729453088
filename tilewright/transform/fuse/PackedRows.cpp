#include "tilewright/transform/fuse/PackedRows.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/fuse/Packing.h"

using namespace mlir;

namespace tilewright::fuse {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

std::optional<PackedRows> PackedRows::of(stablehlo::DynamicUpdateSliceOp op) {
  const RankedTensorType whole = op.getType(), part = typeOf(op.getUpdate());
  if (!isNarrow(whole) || !isNarrow(part))
    return std::nullopt;
  int64_t leading = whole.getRank(), elements = 1;
  while (leading > 0 && whole.getDimSize(leading - 1) == part.getDimSize(leading - 1))
    elements *= whole.getDimSize(--leading);
  const int64_t bits = elements * whole.getElementTypeBitWidth();
  if (bits % 8 != 0)
    return std::nullopt;
  SmallVector<int64_t> shape(whole.getShape().take_front(leading));
  shape.push_back(bits / 8);
  PackedRows rows;
  rows.type = RankedTensorType::get(shape, packedType(whole).getElementType());
  return rows;
}

Value PackedRows::viewed(OpBuilder &builder, Value bytes) const {
  return stablehlo::ReshapeOp::create(builder, bytes.getLoc(), type, bytes);
}

Value PackedRows::flat(OpBuilder &builder, Value rows) const {
  return stablehlo::ReshapeOp::create(
      builder, rows.getLoc(), RankedTensorType::get(type.getNumElements(), type.getElementType()),
      rows);
}

Value PackedRows::update(OpBuilder &builder, stablehlo::DynamicUpdateSliceOp op, Value rows,
                         Value part) const {
  SmallVector<int64_t> shape(typeOf(op.getUpdate()).getShape().take_front(type.getRank() - 1));
  shape.push_back(type.getShape().back());
  part = stablehlo::ReshapeOp::create(builder, op.getLoc(), type.clone(shape), part);
  SmallVector<Value> starts(op.getStartIndices().take_front(type.getRank() - 1));
  // All start indices have the same type.
  const Type index = op.getStartIndices().empty()
                         ? Type(RankedTensorType::get({}, builder.getI32Type()))
                         : op.getStartIndices()[0].getType();
  starts.push_back(stablehlo::ConstantOp::create(
      builder, op.getLoc(), cast<DenseElementsAttr>(builder.getZeroAttr(index))));
  return stablehlo::DynamicUpdateSliceOp::create(builder, op.getLoc(), type, rows, part, starts);
}

} // namespace tilewright::fuse
