// Lowers an elementwise op outside of fusions to a kernel of its own over flat memory.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::cpu {

/// Elements per work item: enough to amortize a launch, few enough to balance the load.
static constexpr int64_t chunk = 8192;

LogicalResult Lowering::lowerElementwise(Operation *op) {
  Location loc = op->getLoc();
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t count = result.getNumElements();
  if (count == 0)
    return refuse(op, "has an empty result, which is not supported");
  int64_t size = std::min(count, chunk), points = (count + size - 1) / size;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  // The prefix avoids conflicts with functions of the C library.
  std::string name = ("op_" + op->getName().stripDialect()).str();
  auto kernel = tile::KernelOp::create(
      builder, loc, builder.getStringAttr(name), builder.getDenseI64ArrayAttr(points),
      builder.getI64IntegerAttr(static_cast<int64_t>(op->getNumOperands())),
      /*updates=*/DenseI64ArrayAttr());
  module.getBody()->getOperations().remove(kernel);
  symbols.insert(kernel);
  Block *block = builder.createBlock(&kernel.getBody());
  Value point = block->addArgument(builder.getIndexType(), loc);
  auto memory = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return block->addArgument(
        MemRefType::get(type.getNumElements(), elements::scalarType(type.getElementType())), loc);
  };
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(memory(operand));
  Value output = memory(op->getResult(0));

  builder.setInsertionPointToStart(block);
  Value offset = affine::AffineApplyOp::create(
      builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0) * size), point);
  DenseBoolArrayAttr bounds =
      count % size ? builder.getDenseBoolArrayAttr(false) : DenseBoolArrayAttr();
  SmallVector<Value> tiles;
  SmallVector<Type> types;
  for (Value input : inputs) {
    auto type = cast<MemRefType>(input.getType());
    types.push_back(type.getElementType());
    if (type.getNumElements() == count) {
      tiles.push_back(tile::LoadOp::create(builder, loc,
                                           RankedTensorType::get(size, type.getElementType()),
                                           input, offset, Value(), DenseI64ArrayAttr(), bounds));
      continue;
    }
    // A scalar operand next to tensors, as in clamp and select.
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value single =
        tile::LoadOp::create(builder, loc, RankedTensorType::get(1, type.getElementType()), input,
                             zero, Value(), DenseI64ArrayAttr(), DenseBoolArrayAttr());
    AffineMap first = AffineMap::get(1, 0, builder.getAffineConstantExpr(0));
    tiles.push_back(tile::ViewOp::create(
        builder, loc, RankedTensorType::get(size, type.getElementType()), single, first));
  }
  Type element = cast<MemRefType>(output.getType()).getElementType();
  auto map =
      tile::MapOp::create(builder, loc, TypeRange(RankedTensorType::get(size, element)), tiles);
  Block *body = builder.createBlock(&map.getBody());
  SmallVector<Value> arguments;
  for (Type type : types)
    arguments.push_back(body->addArgument(type, loc));
  Value value = elements::emitElement(builder, op, arguments);
  tile::YieldOp::create(builder, loc, value);
  builder.setInsertionPointAfter(map);
  tile::StoreOp::create(builder, loc, map.getResult(0), output, offset, DenseI64ArrayAttr(),
                        bounds);
  tile::YieldOp::create(builder, loc, ValueRange());

  builder.setInsertionPoint(op);
  // Each element is read before it is written, so the result may alias an operand.
  SmallVector<int64_t> aliases;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (operand.getType() == result) {
      aliases.append({0, static_cast<int64_t>(number)});
      break;
    }
  auto launch = exec::LaunchOp::create(
      builder, loc, op->getResultTypes(), FlatSymbolRefAttr::get(kernel), op->getOperands(),
      aliases.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(aliases));
  op->replaceAllUsesWith(launch);
  op->erase();
  return success();
}

} // namespace tilewright::cpu
