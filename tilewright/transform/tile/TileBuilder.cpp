#include "tilewright/transform/tile/TileBuilder.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"

using namespace mlir;

namespace tilewright::tile {

DenseBoolArrayAttr TileBuilder::inBounds(Value memory, ArrayRef<int64_t> shape) {
  SmallVector<bool> inside;
  for (auto [size, part] : llvm::zip_equal(cast<MemRefType>(memory.getType()).getShape(), shape))
    inside.push_back(size % part == 0);
  return llvm::all_of(inside, [](bool value) { return value; })
             ? DenseBoolArrayAttr()
             : builder.getDenseBoolArrayAttr(inside);
}

Value TileBuilder::load(Value from, ArrayRef<Value> offsets, ArrayRef<int64_t> shape) {
  Type element = cast<MemRefType>(from.getType()).getElementType();
  return LoadOp::create(builder, loc, RankedTensorType::get(shape, element), from, offsets, Value(),
                        DenseI64ArrayAttr(), inBounds(from, shape));
}

void TileBuilder::store(Value tile, Value target, ArrayRef<Value> offsets) {
  StoreOp::create(builder, loc, tile, target, offsets, DenseI64ArrayAttr(),
                  inBounds(target, typeOf(tile).getShape()));
}

Value TileBuilder::view(Value from, ArrayRef<AffineExpr> exprs, ArrayRef<int64_t> shape) {
  return ViewOp::create(
      builder, loc, RankedTensorType::get(shape, typeOf(from).getElementType()), from,
      AffineMap::get(static_cast<unsigned>(shape.size()), 0, exprs, builder.getContext()));
}

Value TileBuilder::map(ValueRange tiles, Type element, ArrayRef<int64_t> shape,
                       llvm::function_ref<Value(OpBuilder &, ValueRange)> body) {
  auto op = MapOp::create(builder, loc, TypeRange(RankedTensorType::get(shape, element)), tiles);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getBody());
  for (Value input : tiles)
    block->addArgument(typeOf(input).getElementType(), loc);
  YieldOp::create(builder, loc, body(builder, block->getArguments()));
  return op.getResult(0);
}

Value TileBuilder::splat(float value, ArrayRef<int64_t> shape) {
  return map({}, builder.getF32Type(), shape, [&](OpBuilder &inside, ValueRange) -> Value {
    return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(value));
  });
}

void TileBuilder::openKernel(KernelOp kernel, ValueRange inputs, ValueRange outputs) {
  SmallVector<Type> arguments(kernel.getGrid().size(), builder.getIndexType());
  for (ValueRange tensors : {inputs, outputs})
    for (Value tensor : tensors)
      arguments.push_back(MemRefType::get(typeOf(tensor).getShape(),
                                          elements::scalarType(typeOf(tensor).getElementType())));
  builder.createBlock(&kernel.getBody(), {}, arguments,
                      SmallVector<Location>(arguments.size(), loc));
  builder.setInsertionPoint(YieldOp::create(builder, loc));
}

} // namespace tilewright::tile
