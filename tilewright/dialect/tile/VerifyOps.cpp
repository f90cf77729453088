// Verifiers and folders of the tile ops.
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilewright::tile;

static RankedTensorType tileType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===- Kernel -------------------------------------------------------------===//

LogicalResult tilewright::tile::verifyKernelFrame(Operation *kernel, Block &block,
                                                  ArrayRef<int64_t> grid, uint64_t inputs) {
  if (llvm::any_of(grid, [](int64_t size) { return size < 0; }))
    return kernel->emitOpError("needs a grid of sizes that are not negative, got [") << grid << "]";
  if (inputs > block.getNumArguments() || grid.size() + inputs > block.getNumArguments())
    return kernel->emitOpError("needs one block argument for each of ")
           << grid.size() << " coordinates and " << inputs << " inputs, got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments().take_front(grid.size()))
    if (!argument.getType().isIndex())
      return kernel->emitOpError("needs a coordinate of type 'index' as block argument ")
             << argument.getArgNumber() << ", got " << argument.getType();
  for (BlockArgument argument : block.getArguments().drop_front(grid.size())) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return kernel->emitOpError(
                 "needs a memref of static shape in row-major order as block argument ")
             << argument.getArgNumber() << ", got " << argument.getType();
  }
  if (!cast<YieldOp>(block.getTerminator()).getValues().empty())
    return kernel->emitOpError(
        "gives its results by tile.store, so its tile.yield takes no values");
  return success();
}

LogicalResult KernelOp::verify() {
  return verifyKernelFrame(*this, getBlock(), getGrid(), getNumInputs());
}

//===- Load and store -----------------------------------------------------===//

/// The rules that a load and a store share.
static LogicalResult verifyAccess(Operation *op, MemRefType whole, RankedTensorType tile,
                                  size_t offsets, std::optional<ArrayRef<int64_t>> strides,
                                  std::optional<ArrayRef<bool>> inBounds) {
  const auto rank = static_cast<size_t>(whole.getRank());
  if (static_cast<size_t>(tile.getRank()) != rank)
    return op->emitOpError("needs a tile of the whole tensor's rank ")
           << rank << ", got " << tile.getRank();
  if (tile.getElementType() != whole.getElementType())
    return op->emitOpError("needs one element type, got ")
           << tile.getElementType() << " and " << whole.getElementType();
  if (offsets != rank)
    return op->emitOpError("needs one offset for each of ")
           << rank << " dimensions, got " << offsets;
  if (strides && strides->size() != rank)
    return op->emitOpError("needs one stride for each of ")
           << rank << " dimensions, got " << strides->size();
  if (strides && llvm::is_contained(*strides, 0))
    return op->emitOpError("needs strides other than 0");
  if (inBounds && inBounds->size() != rank)
    return op->emitOpError("needs in_bounds for each of ")
           << rank << " dimensions, got " << inBounds->size();
  return success();
}

LogicalResult LoadOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (failed(verifyAccess(*this, source, tileType(getResult()), getOffsets().size(), getStrides(),
                          getInBounds())))
    return failure();
  if (getPadding() && getPadding().getType() != source.getElementType())
    return emitOpError("needs a padding of the element type ")
           << source.getElementType() << ", got " << getPadding().getType();
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, cast<MemRefType>(getTarget().getType()), tileType(getTile()),
                      getOffsets().size(), getStrides(), getInBounds());
}

//===- View ---------------------------------------------------------------===//

static std::string textOf(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

LogicalResult ViewOp::verify() {
  RankedTensorType source = tileType(getSource()), result = tileType(getResult());
  AffineMap map = getMap();
  if (source.getElementType() != result.getElementType())
    return emitOpError("needs one element type, got ")
           << source.getElementType() << " and " << result.getElementType();
  if (map.getNumSymbols() != 0 || map.getNumDims() != result.getRank() ||
      map.getNumResults() != source.getRank())
    return emitOpError("needs a map from ")
           << result.getRank() << " dimensions to " << source.getRank() << ", without symbols, got "
           << getMapAttr();
  if (result.getNumElements() == 0)
    return success();
  SmallVector<std::optional<int64_t>> lowest(result.getRank(), 0), highest;
  for (int64_t size : result.getShape())
    highest.push_back(size - 1);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto low = getBoundForAffineExpr(expr, map.getNumDims(), 0, lowest, highest, false);
    auto high = getBoundForAffineExpr(expr, map.getNumDims(), 0, lowest, highest, true);
    if (!low || !high || *low < 0 || *high >= source.getDimSize(dim))
      return emitOpError("must stay inside its source, but index ")
             << textOf(expr) << " of dimension " << dim << " leaves [0, " << source.getDimSize(dim)
             << ")";
  }
  return success();
}

OpFoldResult ViewOp::fold(FoldAdaptor) {
  if (getMap().isIdentity() && getSource().getType() == getType())
    return getSource();
  auto inner = getSource().getDefiningOp<ViewOp>();
  if (!inner)
    return {};
  setMap(simplifyAffineMap(inner.getMap().compose(getMap())));
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

//===- Regions over scalars -----------------------------------------------===//

/// Checks that the region takes scalars of types `arguments` and gives `results`.
static LogicalResult verifyBody(Operation *op, Block &block, ArrayRef<Type> arguments,
                                ArrayRef<Type> results) {
  if (block.getArgumentTypes() != TypeRange(arguments))
    return op->emitOpError("needs a region with arguments (")
           << arguments << "), got (" << block.getArgumentTypes() << ")";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != TypeRange(results))
    return op->emitOpError("needs a region that yields (")
           << results << "), got (" << yield.getValues().getTypes() << ")";
  return success();
}

static SmallVector<Type> elementTypes(ValueRange tiles) {
  return llvm::map_to_vector(tiles, [](Value tile) { return tileType(tile).getElementType(); });
}

/// Checks that all tiles have the shape of the first.
static LogicalResult verifyOneShape(Operation *op, ValueRange tiles) {
  for (Value tile : tiles)
    if (tileType(tile).getShape() != tileType(tiles.front()).getShape())
      return op->emitOpError("needs tiles of one shape, got ")
             << tiles.front().getType() << " and " << tile.getType();
  return success();
}

LogicalResult MapOp::verify() {
  if (getResults().empty())
    return emitOpError("needs a result");
  SmallVector<Value> tiles(getInputs());
  llvm::append_range(tiles, getResults());
  if (failed(verifyOneShape(*this, tiles)))
    return failure();
  return verifyBody(*this, getBody().front(), elementTypes(getInputs()),
                    elementTypes(getResults()));
}

/// What reduce and scan share: N tiles of one shape, N inits, and a region that
/// combines accumulators with elements.
static LogicalResult verifyCombiner(Operation *op, ValueRange inputs, ValueRange inits,
                                    ValueRange results, Block &combiner) {
  if (inputs.empty())
    return op->emitOpError("needs an input");
  if (inits.size() != inputs.size() || results.size() != inputs.size())
    return op->emitOpError("needs one init and one result for each of ")
           << inputs.size() << " inputs, got " << inits.size() << " and " << results.size();
  if (failed(verifyOneShape(op, inputs)) || failed(verifyOneShape(op, results)))
    return failure();
  SmallVector<Type> accumulators(inits.getTypes());
  if (elementTypes(results) != accumulators)
    return op->emitOpError("needs results of the types of the inits (")
           << accumulators << "), got (" << elementTypes(results) << ")";
  SmallVector<Type> arguments = accumulators;
  llvm::append_range(arguments, elementTypes(inputs));
  return verifyBody(op, combiner, arguments, accumulators);
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCombiner(*this, getInputs(), getInits(), getResults(), getCombiner().front())))
    return failure();
  ArrayRef<int64_t> shape = tileType(getInputs().front()).getShape();
  llvm::SmallBitVector reduced(shape.size());
  for (int64_t dim : getDims()) {
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()) || reduced[dim])
      return emitOpError("needs different dimensions inside [0, ")
             << shape.size() << "), got [" << getDims() << "]";
    reduced.set(dim);
  }
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!reduced[dim])
      kept.push_back(size);
  if (tileType(getResults().front()).getShape() != ArrayRef(kept))
    return emitOpError("needs results of shape [")
           << kept << "], which is the inputs' without dims [" << getDims() << "], got "
           << getResults().front().getType();
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCombiner(*this, getInputs(), getInits(), getResults(), getCombiner().front())))
    return failure();
  RankedTensorType input = tileType(getInputs().front());
  if (getDim() >= static_cast<uint64_t>(input.getRank()))
    return emitOpError("needs a dimension inside [0, ") << input.getRank() << "), got " << getDim();
  if (tileType(getResults().front()).getShape() != input.getShape())
    return emitOpError("needs results of the inputs' shape, got ")
           << getResults().front().getType() << " for " << input;
  return success();
}

//===- Dot, iota, gather --------------------------------------------------===//

/// Checks that a scale's shape is the operand's, with `dim` divided by a whole number.
static LogicalResult verifyScale(DotOp op, Value operand, Value scale, size_t dim) {
  ArrayRef<int64_t> whole = tileType(operand).getShape(), blocks = tileType(scale).getShape();
  bool fits = whole.size() == blocks.size();
  for (size_t i = 0; fits && i < whole.size(); ++i)
    fits = i == dim ? blocks[i] > 0 && whole[i] % blocks[i] == 0 : whole[i] == blocks[i];
  if (!fits)
    return op.emitOpError("needs a scale of the operand's shape with a whole number of blocks "
                          "along the contracted dimension, got ")
           << scale.getType() << " for " << operand.getType();
  return success();
}

LogicalResult DotOp::verify() {
  for (Value operand : {getLhs(), getRhs()})
    if (Type element = cast<RankedTensorType>(operand.getType()).getElementType();
        getTf32() && !element.isF32())
      return emitOpError() << "rounds f32 to tf32, but an operand has elements of " << element;
  ArrayRef<int64_t> lhs = tileType(getLhs()).getShape(), rhs = tileType(getRhs()).getShape(),
                    acc = tileType(getAcc()).getShape();
  const size_t rank = acc.size();
  if (rank < 2 || lhs.size() != rank || rhs.size() != rank)
    return emitOpError("needs tiles of one rank of at least 2, got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << getAcc().getType();
  if (lhs.drop_back(2) != acc.drop_back(2) || rhs.drop_back(2) != acc.drop_back(2))
    return emitOpError("needs equal batch dimensions, got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << getAcc().getType();
  if (lhs[rank - 1] != rhs[rank - 2])
    return emitOpError("contracts lhs dimension ")
           << rank - 1 << " with rhs dimension " << rank - 2 << ", which must be equal, got "
           << lhs[rank - 1] << " and " << rhs[rank - 2];
  if (lhs[rank - 2] != acc[rank - 2] || rhs[rank - 1] != acc[rank - 1])
    return emitOpError("needs an accumulator of ") << lhs[rank - 2] << " rows and " << rhs[rank - 1]
                                                   << " columns, got " << getAcc().getType();
  if (!getLhsScale() != !getRhsScale())
    return emitOpError("needs scales of both operands or of none");
  if (!getLhsScale())
    return success();
  if (failed(verifyScale(*this, getLhs(), getLhsScale(), rank - 1)))
    return failure();
  return verifyScale(*this, getRhs(), getRhsScale(), rank - 2);
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = getType();
  if (getDim() >= static_cast<uint64_t>(type.getRank()))
    return emitOpError("needs a dimension inside [0, ") << type.getRank() << "), got " << getDim();
  if (!type.getElementType().isIndex() && !isa<IntegerType>(type.getElementType()))
    return emitOpError("counts in integers or indices, got ") << type;
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (source.getElementType() != getType().getElementType())
    return emitOpError("needs one element type, got ")
           << source.getElementType() << " and " << getType().getElementType();
  if (static_cast<int64_t>(getIndices().size()) != source.getRank())
    return emitOpError("needs one tile of indices for each of ")
           << source.getRank() << " dimensions, got " << getIndices().size();
  for (Value indices : getIndices())
    if (tileType(indices).getShape() != getType().getShape() ||
        !tileType(indices).getElementType().isIndex())
      return emitOpError("needs indices of type 'index' in the result's shape, got ")
             << indices.getType() << " for " << getType();
  return success();
}
