#include "tilewright/transform/tile/scaled/EmitScaled.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/TileBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

using Shape = SmallVector<int64_t>;

bool hasScaledProduct(exec::FusionOp fusion) {
  return !fusion.getBody().front().getOps<exec::ScaledMatmulOp>().empty();
}

/// The number of bytes in a line of elements, and of rows to which a group of scales belongs.
constexpr int64_t lineBytes = 128, groupRows = 128;

namespace {

class ScaledEmitter : TileBuilder {
public:
  ScaledEmitter(OpBuilder &builder, exec::FusionOp fusion, exec::ScaledMatmulOp product,
                const Capacities &capacities)
      : TileBuilder(builder, product.getLoc()), fusion(fusion), product(product),
        rank(static_cast<size_t>(typeOf(product.getResult()).getRank())), sizes(3 - rank, 1) {
    llvm::append_range(sizes, typeOf(product.getResult()).getShape());
    kind = *exec::scaledKindOf(product.getLhsType(), product.getRhsType(), product.getScaleType(),
                               static_cast<int64_t>(product.getBlock()));
    tile = capacities.matrix.getUnit() == exec::MatrixUnit::tcgen05
               ? Shape{1, groupRows, tensorColumns(capacities.cores)}
               : Shape{1, warpRows(sizes[1]), warpRows(sizes[2])};
    resultTile = ofRank(tile);
  }

  KernelOp emit(StringRef name);

private:
  /// The columns of a tile in tensor memory. Scales of columns are in groups of 128, so a tile is
  /// one group, two groups, or a part of the only group. Two groups halve the copies of the rows,
  /// if there are enough tiles for the chip.
  int64_t tensorColumns(int64_t cores) const {
    if (sizes[2] <= groupRows)
      return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(sizes[2]), 16));
    return pointsOf(2 * groupRows) >= cores ? 2 * groupRows : groupRows;
  }
  /// The rows or columns of a tile in the registers of warps: a group, or a part of the only group.
  static int64_t warpRows(int64_t size) {
    return std::clamp<int64_t>(static_cast<int64_t>(llvm::PowerOf2Ceil(uint64_t(size))), 16,
                               groupRows);
  }
  int64_t pointsOf(int64_t columns) const {
    return sizes[0] * int64_t(llvm::divideCeil(sizes[1], groupRows)) *
           int64_t(llvm::divideCeil(sizes[2], columns));
  }
  /// The last two of three values, if the product has no batch.
  template <typename T> SmallVector<T> ofRank(ArrayRef<T> three) const {
    return SmallVector<T>(three.take_back(rank));
  }
  Shape ofRank(const Shape &three) const { return ofRank(ArrayRef(three)); }
  Value argument(Value value) { return memory[cast<BlockArgument>(value).getArgNumber()]; }
  Value sums();
  Value multiply(Value step, Value acc);
  Value epilogueValue(Value value);
  Value broadcast(stablehlo::BroadcastInDimOp op);

  exec::FusionOp fusion;
  exec::ScaledMatmulOp product;
  const size_t rank; // of the result: 2 without a batch
  Shape sizes;       // batch, rows, columns of the result
  exec::ScaledKind kind;
  Shape tile, resultTile;         // the latter of the result's rank
  SmallVector<Value> memory;      // of the fusion's inputs
  std::array<Value, 3> point, at; // the coordinate of the tile along each dimension, and its index
  llvm::DenseMap<Value, Value> values;
};

/// Adds the products of one line of elements.
Value ScaledEmitter::multiply(Value step, Value acc) {
  Value zero = index(0), first = times(step, lineBytes);
  const AffineExpr none = builder.getAffineConstantExpr(0);
  auto matrix = [&](Value from, size_t side) {
    return load(argument(from), ofRank<Value>({at[0], at[side], first}),
                ofRank<int64_t>({1, tile[side], lineBytes}));
  };
  Value lhs = view(matrix(product.getLhs(), 1), ofRank<AffineExpr>({none, dim(0), dim(1)}),
                   {tile[1], lineBytes}),
        rhs = view(matrix(product.getRhs(), 2), ofRank<AffineExpr>({none, dim(1), dim(0)}),
                   {lineBytes, tile[2]});
  const int64_t lines = kind.groups(static_cast<int64_t>(product.getBlock())) * 4;
  Value line = times(step, lines);
  auto scales = [&](Value from, Value coordinate, int64_t rows) {
    const int64_t groups = std::max<int64_t>(1, rows / groupRows);
    Value group = groups == 1 ? coordinate : times(coordinate, groups);
    return load(argument(from), {at[0], group, line, zero}, {1, groups, lines, lineBytes});
  };
  Value lhsScales = scales(product.getLhsScale(), point[1], tile[1]),
        rhsScales = scales(product.getRhsScale(), point[2], tile[2]);
  return DotOp::create(builder, loc, acc.getType(), lhs, rhs, acc, lhsScales, rhsScales,
                       /*tf32=*/false, product.getLhsTypeAttr(), product.getRhsTypeAttr(),
                       product.getScaleTypeAttr(), product.getBlockAttr());
}

Value ScaledEmitter::sums() {
  const auto steps =
      static_cast<int64_t>(llvm::divideCeil(typeOf(product.getLhs()).getShape().back(), lineBytes));
  auto loop = scf::ForOp::create(builder, loc, index(0), index(steps), index(1),
                                 splat(0, {tile[1], tile[2]}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc, multiply(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

/// An operand of the epilogue that has fewer elements than the result.
Value ScaledEmitter::broadcast(stablehlo::BroadcastInDimOp op) {
  SmallVector<Value> offsets;
  Shape shape;
  SmallVector<AffineExpr> exprs;
  for (auto [size, to] :
       llvm::zip_equal(typeOf(op.getOperand()).getShape(), op.getBroadcastDimensions())) {
    const auto target = static_cast<size_t>(to) + 3 - rank;
    const bool isRepeated = size == 1;
    offsets.push_back(isRepeated ? index(0) : at[target]);
    shape.push_back(isRepeated ? 1 : tile[target]);
    exprs.push_back(isRepeated ? builder.getAffineConstantExpr(0) : dim(static_cast<unsigned>(to)));
  }
  return view(load(argument(op.getOperand()), offsets, shape), exprs, resultTile);
}

/// The tile of a value of the fusion that has the result's shape.
Value ScaledEmitter::epilogueValue(Value value) {
  Value &known = values[value];
  if (known)
    return known;
  Operation *op = value.getDefiningOp();
  if (!op)
    return known = load(argument(value), ofRank<Value>(at), resultTile);
  loc = op->getLoc();
  if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return values[value] = broadcast(spread);
  const Type element = elements::scalarType(typeOf(value).getElementType());
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return values[value] = map({}, element, resultTile, [&](OpBuilder &inside, ValueRange) {
             return elements::emitConstant(inside, loc, constant.getValue());
           });
  SmallVector<Value> tiles;
  for (Value operand : op->getOperands())
    tiles.push_back(epilogueValue(operand));
  return values[value] =
             map(tiles, element, resultTile, [&](OpBuilder &inside, ValueRange operands) {
               return elements::emitElement(inside, op, operands);
             });
}

KernelOp ScaledEmitter::emit(StringRef name) {
  Shape grid;
  SmallVector<size_t> gridDims;
  for (size_t i = 0; i < 3; ++i)
    if (int64_t points = llvm::divideCeil(sizes[i], tile[i]); points > 1 || i > 0) {
      grid.push_back(points);
      gridDims.push_back(i);
    }
  auto kernel =
      KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(fusion.getInputs().size()),
                       DenseI64ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  openKernel(kernel, fusion.getInputs(), fusion.getResults());
  llvm::append_range(memory, kernel.getInputs());
  point.fill(index(0));
  for (auto [coordinate, i] : llvm::zip_equal(kernel.getCoordinates(), gridDims))
    point[i] = coordinate;
  for (size_t i = 0; i < 3; ++i)
    at[i] = tile[i] == 1 ? point[i] : times(point[i], tile[i]);

  const auto row = static_cast<unsigned>(rank - 2);
  Value result = view(sums(), {dim(row), dim(row + 1)}, resultTile);
  if (Type element = typeOf(product.getResult()).getElementType(); !element.isF32())
    result = map(result, element, resultTile, [&](OpBuilder &inside, ValueRange values) {
      return elements::emitConversion(inside, loc, inside.getF32Type(), element, values[0]);
    });
  values[product.getResult()] = result;
  Operation *yield = fusion.getBody().front().getTerminator();
  for (auto [value, target] : llvm::zip_equal(yield->getOperands(), kernel.getOutputs())) {
    Value stored = epilogueValue(value);
    store(stored, target, ofRank<Value>(at));
  }
  return kernel;
}

/// Why the fusion has no kernel; empty if it has one.
std::string whyNot(exec::FusionOp fusion, exec::ScaledMatmulOp product) {
  auto isMemory = [](Value value) { return isa<BlockArgument>(value); };
  if (!llvm::all_of(product->getOperands(), isMemory))
    return "an operand of its scaled product is computed in the fusion";
  const ArrayRef<int64_t> shape = typeOf(product.getResult()).getShape();
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
    const bool isKnown = &op == product || isa<stablehlo::ConstantOp>(op) ||
                         (broadcast && isMemory(broadcast.getOperand())) ||
                         elements::canExpress(&op);
    if (!isKnown || typeOf(op.getResult(0)).getShape() != shape)
      return "a scaled product has only elementwise ops of its result's shape beside it, got '" +
             op.getName().getStringRef().str() + "'";
  }
  return {};
}

} // namespace

KernelOp emitScaledKernel(OpBuilder &builder, exec::FusionOp fusion, StringRef name,
                          const Capacities &capacities, std::string &reason) {
  exec::ScaledMatmulOp product = *fusion.getBody().front().getOps<exec::ScaledMatmulOp>().begin();
  reason = whyNot(fusion, product);
  if (!reason.empty())
    return {};
  return ScaledEmitter(builder, fusion, product, capacities).emit(name);
}

} // namespace tilewright::tile
