// Verifiers and folders of the tile ops.
#include "tilewright/dialect/tile/TileDialect.h"

#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/dialect/tile/WindowOps.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilewright::tile;

static RankedTensorType tileType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===- Kernel -------------------------------------------------------------===//

static LogicalResult verifyUpdates(Operation *kernel, Block::BlockArgListType inputs,
                                   Block::BlockArgListType outputs, ArrayRef<int64_t> updates) {
  if (updates.size() % 2 != 0)
    return kernel->emitOpError("expects pairs of an output and an input in 'updates', got ")
           << updates.size() << " entries";
  for (size_t i = 0; i < updates.size(); i += 2) {
    const int64_t output = updates[i], input = updates[i + 1];
    if (output < 0 || output >= static_cast<int64_t>(outputs.size()) || input < 0 ||
        input >= static_cast<int64_t>(inputs.size()))
      return kernel->emitOpError("updates output ")
             << output << " in the memory of input " << input << ", but it has " << outputs.size()
             << " outputs and " << inputs.size() << " inputs";
    Value from = inputs[static_cast<size_t>(input)], to = outputs[static_cast<size_t>(output)];
    if (from.getType() != to.getType())
      return kernel->emitOpError("expects an updated output to have the type of its input, got ")
             << to.getType() << " and " << from.getType();
    if (!from.use_empty())
      return kernel->emitOpError("reads input ")
             << input << ", whose memory it writes as output " << output;
  }
  return success();
}

LogicalResult tilewright::tile::verifyKernelFrame(Operation *kernel, Block &block,
                                                  ArrayRef<int64_t> grid, uint64_t inputs,
                                                  ArrayRef<int64_t> updates) {
  if (llvm::any_of(grid, [](int64_t size) { return size < 0; }))
    return kernel->emitOpError("expects grid sizes that are not negative, got [") << grid << "]";
  if (inputs > block.getNumArguments() || grid.size() + inputs > block.getNumArguments())
    return kernel->emitOpError("expects one block argument for each of the ")
           << grid.size() << " coordinates and " << inputs << " inputs, got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments().take_front(grid.size()))
    if (!argument.getType().isIndex())
      return kernel->emitOpError("expects a coordinate of type 'index' as block argument ")
             << argument.getArgNumber() << ", got " << argument.getType();
  for (BlockArgument argument : block.getArguments().drop_front(grid.size())) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity())
      return kernel->emitOpError(
                 "expects a memref of static shape in row-major order as block argument ")
             << argument.getArgNumber() << ", got " << argument.getType();
    if (isWindow(type) && failed(verifyWindow(kernel, argument)))
      return failure();
  }
  if (!cast<YieldOp>(block.getTerminator()).getValues().empty())
    return kernel->emitOpError(
        "must write its results with tile.store, but its tile.yield has values");
  auto memory = block.getArguments().drop_front(grid.size());
  return verifyUpdates(kernel, memory.take_front(inputs), memory.drop_front(inputs), updates);
}

LogicalResult KernelOp::verify() {
  return verifyKernelFrame(*this, getBlock(), getGrid(), getNumInputs(),
                           getUpdates().value_or(ArrayRef<int64_t>()));
}

//===- Load and store -----------------------------------------------------===//

/// The rules that a load and a store share.
static LogicalResult verifyAccess(Operation *op, MemRefType whole, RankedTensorType tile,
                                  size_t offsets, std::optional<ArrayRef<int64_t>> strides,
                                  std::optional<ArrayRef<bool>> inBounds) {
  const auto rank = static_cast<size_t>(whole.getRank());
  if (static_cast<size_t>(tile.getRank()) != rank)
    return op->emitOpError("expects the tile to have the rank of the tensor, ")
           << rank << ", got " << tile.getRank();
  if (tile.getElementType() != whole.getElementType())
    return op->emitOpError("expects tile and tensor to have the same element type, got ")
           << tile.getElementType() << " and " << whole.getElementType();
  if (offsets != rank)
    return op->emitOpError("expects one offset for each of the ")
           << rank << " dimensions, got " << offsets;
  if (strides && strides->size() != rank)
    return op->emitOpError("expects one stride for each of the ")
           << rank << " dimensions, got " << strides->size();
  if (strides && llvm::is_contained(*strides, 0))
    return op->emitOpError("expects nonzero strides, got [") << *strides << "]";
  if (inBounds && inBounds->size() != rank)
    return op->emitOpError("expects one in_bounds entry for each of the ")
           << rank << " dimensions, got " << inBounds->size();
  return verifyWindowAccess(op, whole, tile, inBounds);
}

LogicalResult LoadOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (failed(verifyAccess(*this, source, tileType(getResult()), getOffsets().size(), getStrides(),
                          getInBounds())))
    return failure();
  if (getPadding() && getPadding().getType() != source.getElementType())
    return emitOpError("expects a padding value of type ")
           << source.getElementType() << ", got " << getPadding().getType();
  return success();
}

LogicalResult StoreOp::verify() {
  auto target = cast<MemRefType>(getTarget().getType());
  if (failed(verifyAccess(*this, target, tileType(getTile()), getOffsets().size(), getStrides(),
                          getInBounds())))
    return failure();
  const std::optional<ArrayRef<int64_t>> window = getWindow();
  const size_t rank = window ? static_cast<size_t>(target.getRank()) : 0;
  if (getOrigin().size() != rank || (window && window->size() != rank))
    return emitOpError("expects a window with one size and one origin for each of the ")
           << target.getRank() << " dimensions, got " << (window ? window->size() : 0)
           << " sizes and " << getOrigin().size() << " origins";
  for (size_t dim = 0; dim < rank; ++dim)
    if ((*window)[dim] > target.getDimSize(static_cast<unsigned>(dim)))
      return emitOpError("has a window of size ")
             << (*window)[dim] << " in dimension " << dim << ", but the target has size "
             << target.getDimSize(static_cast<unsigned>(dim));
  return success();
}

//===- View ---------------------------------------------------------------===//

static std::string textOf(AffineExpr expr) {
  std::string text;
  llvm::raw_string_ostream(text) << expr;
  return text;
}

/// The largest value of an index that is not negative, whose dimensions have these sizes: digit by
/// digit, because an analysis of the whole sum does not see that a digit is less than its base.
/// nullopt for other forms than digits.
static std::optional<int64_t> largestOf(AffineExpr expr, ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() < 0 ? std::nullopt : std::optional(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sizes[dim.getPosition()] - 1;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const std::optional<int64_t> left = largestOf(binary.getLHS(), sizes),
                               right = largestOf(binary.getRHS(), sizes);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    return *left * *right;
  case AffineExprKind::FloorDiv:
    return *right > 0 ? std::optional(*left / *right) : std::nullopt;
  case AffineExprKind::Mod:
    return std::min(*left, *right - 1);
  default:
    return std::nullopt;
  }
}

LogicalResult ViewOp::verify() {
  RankedTensorType source = tileType(getSource()), result = tileType(getResult());
  AffineMap map = getMap();
  if (source.getElementType() != result.getElementType())
    return emitOpError("expects source and result to have the same element type, got ")
           << source.getElementType() << " and " << result.getElementType();
  if (map.getNumSymbols() != 0 || map.getNumDims() != result.getRank() ||
      map.getNumResults() != source.getRank())
    return emitOpError("expects a map from ")
           << result.getRank() << " dimensions to " << source.getRank()
           << " indices, without symbols, got " << getMapAttr();
  if (result.getNumElements() == 0)
    return success();
  SmallVector<std::optional<int64_t>> lowest(result.getRank(), 0), highest;
  for (int64_t size : result.getShape())
    highest.push_back(size - 1);
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    auto low = getBoundForAffineExpr(expr, map.getNumDims(), 0, lowest, highest, false);
    auto high = getBoundForAffineExpr(expr, map.getNumDims(), 0, lowest, highest, true);
    const int64_t size = source.getDimSize(static_cast<unsigned>(dim));
    const bool isInside = low && high && *low >= 0 && *high < size;
    if (!isInside && largestOf(expr, result.getShape()).value_or(size) >= size)
      return emitOpError("must stay inside its source, but index ")
             << textOf(expr) << " of dimension " << dim << " can be outside of [0, " << size << ")";
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

/// Checks that the region takes scalars of types `arguments` and yields `results`.
static LogicalResult verifyBody(Operation *op, Block &block, ArrayRef<Type> arguments,
                                ArrayRef<Type> results) {
  if (block.getArgumentTypes() != TypeRange(arguments))
    return op->emitOpError("expects a region with arguments (")
           << arguments << "), got (" << block.getArgumentTypes() << ")";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != TypeRange(results))
    return op->emitOpError("expects a region that yields (")
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
      return op->emitOpError("expects tiles of the same shape, got ")
             << tiles.front().getType() << " and " << tile.getType();
  return success();
}

LogicalResult MapOp::verify() {
  if (getResults().empty())
    return emitOpError("expects at least one result");
  SmallVector<Value> tiles(getInputs());
  llvm::append_range(tiles, getResults());
  if (failed(verifyOneShape(*this, tiles)))
    return failure();
  return verifyBody(*this, getBody().front(), elementTypes(getInputs()),
                    elementTypes(getResults()));
}

/// The shared rules of reduce and scan: N tiles of the same shape, N inits, and a region that
/// combines accumulators with elements.
static LogicalResult verifyCombiner(Operation *op, ValueRange inputs, ValueRange inits,
                                    ValueRange results, Block &combiner) {
  if (inputs.empty())
    return op->emitOpError("expects at least one input");
  if (inits.size() != inputs.size() || results.size() != inputs.size())
    return op->emitOpError("expects one init and one result for each of the ")
           << inputs.size() << " inputs, got " << inits.size() << " and " << results.size();
  if (failed(verifyOneShape(op, inputs)) || failed(verifyOneShape(op, results)))
    return failure();
  SmallVector<Type> accumulators(inits.getTypes());
  if (elementTypes(results) != accumulators)
    return op->emitOpError("expects results with the element types of the inits (")
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
      return emitOpError("expects unique dimensions in [0, ")
             << shape.size() << "), got [" << getDims() << "]";
    reduced.set(dim);
  }
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!reduced[dim])
      kept.push_back(size);
  if (tileType(getResults().front()).getShape() != ArrayRef(kept))
    return emitOpError("expects results of shape [")
           << kept << "], the inputs' shape without dims [" << getDims() << "], got "
           << getResults().front().getType();
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCombiner(*this, getInputs(), getInits(), getResults(), getCombiner().front())))
    return failure();
  RankedTensorType input = tileType(getInputs().front());
  if (getDim() >= static_cast<uint64_t>(input.getRank()))
    return emitOpError("expects a dimension in [0, ") << input.getRank() << "), got " << getDim();
  if (tileType(getResults().front()).getShape() != input.getShape())
    return emitOpError("expects results with the inputs' shape, got ")
           << getResults().front().getType() << " for inputs of type " << input;
  return success();
}

LogicalResult SortOp::verify() {
  if (getInputs().empty() || getInputs().size() != getResults().size())
    return emitOpError("expects at least one input, and a result for each, got ")
           << getInputs().size() << " inputs and " << getResults().size() << " results";
  RankedTensorType first = tileType(getInputs().front());
  if (getDim() >= static_cast<uint64_t>(first.getRank()))
    return emitOpError("expects a dimension in [0, ") << first.getRank() << "), got " << getDim();
  SmallVector<Type> elements;
  for (auto [input, result] : llvm::zip_equal(getInputs(), getResults())) {
    RankedTensorType type = tileType(input), sorted = tileType(result);
    if (type.getShape() != first.getShape() || sorted.getShape() != first.getShape() ||
        type.getElementType() != sorted.getElementType())
      return emitOpError("expects inputs and results of the same shape, each result with its "
                         "input's element type, got ")
             << type << " and " << sorted << " beside " << first;
    elements.append(2, type.getElementType());
  }
  Block &comparator = getComparator().front();
  if (comparator.getArgumentTypes() != TypeRange(elements))
    return emitOpError("expects a region with two elements of each input as arguments, got ")
           << comparator.getArgumentTypes();
  Operation *yield = comparator.getTerminator();
  if (yield->getNumOperands() != 1 || !yield->getOperand(0).getType().isInteger(1))
    return emitOpError("expects a region that yields an i1, got ") << yield->getOperandTypes();
  const int64_t size = first.getDimSize(static_cast<unsigned>(getDim()));
  if (getMerge() && !llvm::isPowerOf2_64(static_cast<uint64_t>(size)))
    return emitOpError("merges along a dimension whose size must be a power of two, got ") << size;
  return success();
}

//===- Dot, iota, gather --------------------------------------------------===//

/// Checks that the shape of a scale is that of its operand, with the size of `dim` divided by an
/// integer.
static LogicalResult verifyScale(DotOp op, Value operand, Value scale, size_t dim) {
  ArrayRef<int64_t> whole = tileType(operand).getShape(), blocks = tileType(scale).getShape();
  bool fits = whole.size() == blocks.size();
  for (size_t i = 0; fits && i < whole.size(); ++i)
    fits = i == dim ? blocks[i] > 0 && whole[i] % blocks[i] == 0 : whole[i] == blocks[i];
  if (!fits)
    return op.emitOpError("expects a scale with its operand's shape, except that its size along "
                          "the contracted dimension must divide the operand's, got scale ")
           << scale.getType() << " for operand " << operand.getType();
  return success();
}

LogicalResult DotOp::verify() {
  for (Value operand : {getLhs(), getRhs()})
    if (Type element = cast<RankedTensorType>(operand.getType()).getElementType();
        getTf32() && !element.isF32())
      return emitOpError() << "can round only f32 operands to tf32, got " << element;
  ArrayRef<int64_t> lhs = tileType(getLhs()).getShape(), rhs = tileType(getRhs()).getShape(),
                    acc = tileType(getAcc()).getShape();
  const size_t rank = acc.size();
  if (rank < 2 || lhs.size() != rank || rhs.size() != rank)
    return emitOpError("expects tiles of the same rank, at least 2, got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << getAcc().getType();
  if (lhs.drop_back(2) != acc.drop_back(2) || rhs.drop_back(2) != acc.drop_back(2))
    return emitOpError("expects equal batch dimensions, got ")
           << getLhs().getType() << ", " << getRhs().getType() << " and " << getAcc().getType();
  if (lhs[rank - 1] != rhs[rank - 2])
    return emitOpError("contracts lhs dimension ")
           << rank - 1 << " with rhs dimension " << rank - 2 << ", which must be equal, got "
           << lhs[rank - 1] << " and " << rhs[rank - 2];
  if (lhs[rank - 2] != acc[rank - 2] || rhs[rank - 1] != acc[rank - 1])
    return emitOpError("expects an accumulator of ")
           << lhs[rank - 2] << " rows and " << rhs[rank - 1] << " columns, got "
           << getAcc().getType();
  if (!getLhsScale() != !getRhsScale())
    return emitOpError("expects scales for both operands or for neither");
  if (getBlock().has_value() != getLhsType().has_value() ||
      getBlock().has_value() != getRhsType().has_value() ||
      getBlock().has_value() != getScaleType().has_value() || (getBlock() && !getLhsScale()))
    return emitOpError("expects ordered scales with `block`, `lhs_type`, `rhs_type` and "
                       "`scale_type`, or none of these");
  if (!getLhsScale() || getBlock())
    return success();
  if (failed(verifyScale(*this, getLhs(), getLhsScale(), rank - 1)))
    return failure();
  return verifyScale(*this, getRhs(), getRhsScale(), rank - 2);
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = getType();
  if (getDim() >= static_cast<uint64_t>(type.getRank()))
    return emitOpError("expects a dimension in [0, ") << type.getRank() << "), got " << getDim();
  if (!type.getElementType().isIndex() && !isa<IntegerType>(type.getElementType()))
    return emitOpError("expects a result with integer or index elements, got ") << type;
  return success();
}

/// Checks the indices of each element of a tile in a multidimensional memory. `whose` names the
/// tile.
static LogicalResult verifyIndices(Operation *op, ValueRange all, MemRefType memory,
                                   RankedTensorType type, StringRef whose) {
  if (static_cast<int64_t>(all.size()) != memory.getRank())
    return op->emitOpError("expects one tile of indices for each of the ")
           << memory.getRank() << " dimensions, got " << all.size();
  for (Value indices : all)
    if (tileType(indices).getShape() != type.getShape() ||
        !tileType(indices).getElementType().isIndex())
      return op->emitOpError("expects indices of type 'index' in the ")
             << whose << "'s shape, got " << indices.getType() << " for " << type;
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (source.getElementType() != getType().getElementType())
    return emitOpError("expects source and result to have the same element type, got ")
           << source.getElementType() << " and " << getType().getElementType();
  return verifyIndices(*this, getIndices(), source, getType(), "result");
}

/// Checks the elements of a tile that are written to memory at computed indices.
template <typename Op> static LogicalResult verifyScattered(Op op) {
  auto target = cast<MemRefType>(op.getTarget().getType());
  RankedTensorType type = tileType(op.getTile());
  if (target.getElementType() != type.getElementType())
    return op.emitOpError("expects tile and target to have the same element type, got ")
           << type.getElementType() << " and " << target.getElementType();
  return verifyIndices(op, op.getIndices(), target, type, "tile");
}

LogicalResult ScatterOp::verify() { return verifyScattered(*this); }

//===- Update, carry, bucket, take ----------------------------------------===//

LogicalResult UpdateOp::verify() {
  if (failed(verifyScattered(*this)))
    return failure();
  Type element = tileType(getTile()).getElementType();
  if (getAtomic() && !element.isInteger(32) && !element.isInteger(64))
    return emitOpError("can be atomic only for integers of 32 or 64 bits, got ") << element;
  if (getAtomic() && !llvm::hasNItems(getCombiner().front(), 2))
    return emitOpError("expects a single op in the combiner of an atomic update");
  return verifyBody(*this, getCombiner().front(), {element, element}, {element});
}

LogicalResult CarryOp::verify() {
  RankedTensorType type = tileType(getInput());
  Type element = type.getElementType();
  auto integer = dyn_cast<IntegerType>(element);
  RankedTensorType result = tileType(getResult());
  if (result.getShape() != type.getShape() || result.getElementType() != element ||
      getInit().getType() != element)
    return emitOpError("expects a result of the input's type and an init of its element type, got ")
           << type << ", " << getResult().getType() << " and " << getInit().getType();
  if (!integer || (getNarrow() ? integer.getWidth() != 32 : integer.getWidth() > 64))
    return emitOpError("expects integers of up to 64 bits, of 32 bits if narrow, got ") << element;
  if (getEpoch() > 6)
    return emitOpError("expects an epoch of at most 6, got ") << getEpoch();
  auto state = cast<MemRefType>(getState().getType());
  auto kernel = (*this)->getParentOfType<KernelOp>();
  const int64_t words = header + type.getNumElements() * wordsOf(integer.getWidth()) *
                                     (kernel ? kernel.getPointCount() : 0);
  if (state.getRank() != 1 || !state.getElementType().isInteger(getNarrow() ? 32 : 64) ||
      state.getDimSize(0) < words)
    return emitOpError("expects a state of at least ")
           << words << " words of " << (getNarrow() ? 32 : 64) << " bits, got " << state;
  return verifyBody(*this, getCombiner().front(), {element, element}, {element});
}

/// Whether all dimensions of a tile except the last have size 1.
static bool isRow(RankedTensorType type) {
  return type.getRank() > 0 && type.getNumElements() == type.getShape().back();
}

LogicalResult BucketOp::verify() {
  RankedTensorType digits = tileType(getDigits()), starts = tileType(getStarts());
  if (!isRow(digits) || !isRow(starts) || !digits.getElementType().isInteger(32) ||
      !starts.getElementType().isInteger(32))
    return emitOpError("expects digits and starts of i32 in one row, got ")
           << digits << " and " << starts;
  if (getInputs().size() != getResults().size())
    return emitOpError("expects a result for each input, got ")
           << getInputs().size() << " inputs and " << getResults().size() << " results";
  for (auto [input, result] : llvm::zip_equal(getInputs(), getResults()))
    if (tileType(input).getElementType() != tileType(result).getElementType() ||
        tileType(input).getShape() != digits.getShape() ||
        tileType(result).getShape() != digits.getShape())
      return emitOpError("expects inputs and results of the same type, in the shape of the digits, "
                         "got ")
             << input.getType() << " and " << result.getType() << " beside " << digits;
  return success();
}

LogicalResult TakeOp::verify() {
  RankedTensorType source = tileType(getSource()), indices = tileType(getIndices());
  RankedTensorType result = tileType(getResult());
  if (!isRow(source) || !indices.getElementType().isInteger(32) ||
      result.getShape() != indices.getShape() || result.getElementType() != source.getElementType())
    return emitOpError(
               "expects a source with one row, indices of i32, and a result in their shape, "
               "got ")
           << source << ", " << indices << " and " << getResult().getType();
  return success();
}
