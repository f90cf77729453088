#include "tilewright/transform/simplify/RaggedDot.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using Dims = SmallVector<int64_t>;

/// The parameters of a ragged_dot. The ragged dimension is the only one of `lhsFree` or of
/// `lhsContracting`, or it is one of `lhsBatching`.
struct RaggedDot {
  Value lhs, rhs, sizes;
  RankedTensorType result;
  Dims lhsBatching, rhsBatching, lhsContracting, rhsContracting, lhsFree, rhsFree;
  std::optional<int64_t> groupDim; // of rhs
  enum { rows, contraction, batch } mode = rows;
  ArrayAttr precision;
};

/// The dimensions of a tensor that are in none of the lists.
Dims remaining(int64_t rank, ArrayRef<ArrayRef<int64_t>> lists) {
  Dims dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (llvm::none_of(lists, [&](ArrayRef<int64_t> list) { return llvm::is_contained(list, dim); }))
      dims.push_back(dim);
  return dims;
}

/// Whether the lists name dimensions of a tensor of this rank, none of them twice.
bool areDimensions(int64_t rank, ArrayRef<ArrayRef<int64_t>> lists) {
  llvm::SmallBitVector seen(static_cast<unsigned>(rank));
  for (ArrayRef<int64_t> list : lists)
    for (int64_t dim : list) {
      if (dim < 0 || dim >= rank || seen.test(static_cast<unsigned>(dim)))
        return false;
      seen.set(static_cast<unsigned>(dim));
    }
  return true;
}

int64_t sizeOf(Value value, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= typeOf(value).getDimSize(static_cast<unsigned>(dim));
  return product;
}

Dims shapeOf(Value value, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(
      dims, [&](int64_t dim) { return typeOf(value).getDimSize(static_cast<unsigned>(dim)); });
}

/// Reads the six lists of dimensions; false if an attribute is not of the form that JAX writes.
bool readDimensions(DictionaryAttr attributes, RaggedDot &dot, int64_t &ragged) {
  auto lists = attributes ? attributes.getAs<ArrayAttr>("ragged_dot_dimension_numbers") : nullptr;
  if (!lists || lists.size() != 6)
    return false;
  Dims raggedDims, groupDims;
  Dims *const parts[] = {&dot.lhsBatching,    &dot.rhsBatching, &dot.lhsContracting,
                         &dot.rhsContracting, &raggedDims,      &groupDims};
  for (auto [attribute, dims] : llvm::zip_equal(lists, parts)) {
    auto elements = dyn_cast<DenseIntElementsAttr>(attribute);
    if (!elements || !elements.getElementType().isInteger(64))
      return false;
    llvm::append_range(*dims, elements.getValues<int64_t>());
  }
  if (raggedDims.size() != 1 || groupDims.size() > 1)
    return false;
  ragged = raggedDims[0];
  if (!groupDims.empty())
    dot.groupDim = groupDims[0];
  if (auto names = attributes.getAs<ArrayAttr>("precision_config")) {
    SmallVector<Attribute> precision;
    for (Attribute name : names) {
      auto text = dyn_cast<StringAttr>(name);
      auto known = text ? stablehlo::symbolizePrecision(text.getValue()) : std::nullopt;
      if (!known)
        return false;
      precision.push_back(stablehlo::PrecisionAttr::get(attributes.getContext(), *known));
    }
    dot.precision =
        precision.size() == 2 ? ArrayAttr::get(attributes.getContext(), precision) : nullptr;
  }
  return true;
}

/// Why a composite cannot be expanded; null if it can, and then `dot` has its parameters.
const char *readRaggedDot(stablehlo::CompositeOp op, RaggedDot &dot) {
  if (op.getInputs().size() != 3 || op->getNumResults() != 1)
    return "it does not have three operands and one result";
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() == 0 ||
        !isa<IntegerType, FloatType>(tensor.getElementType()))
      return "a tensor has a dynamic shape, no elements, or elements that are not real numbers";
  }
  dot.lhs = op.getInputs()[0], dot.rhs = op.getInputs()[1], dot.sizes = op.getInputs()[2];
  dot.result = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t ragged = 0;
  if (!isInteger(dot.sizes) ||
      !readDimensions(op.getCompositeAttributes().value_or(DictionaryAttr()), dot, ragged))
    return "its attributes do not have the known form";
  const int64_t lhsRank = typeOf(dot.lhs).getRank(), rhsRank = typeOf(dot.rhs).getRank();
  const Dims group = dot.groupDim ? Dims{*dot.groupDim} : Dims{};
  if (!areDimensions(lhsRank, {dot.lhsBatching, dot.lhsContracting}) ||
      !areDimensions(rhsRank, {dot.rhsBatching, dot.rhsContracting, group}) ||
      !areDimensions(lhsRank, {{ragged}}) ||
      shapeOf(dot.lhs, dot.lhsBatching) != shapeOf(dot.rhs, dot.rhsBatching) ||
      shapeOf(dot.lhs, dot.lhsContracting) != shapeOf(dot.rhs, dot.rhsContracting))
    return "its dimension numbers do not match its operands";
  dot.lhsFree = remaining(lhsRank, {dot.lhsBatching, dot.lhsContracting});
  dot.rhsFree = remaining(rhsRank, {dot.rhsBatching, dot.rhsContracting, group});
  dot.mode = llvm::is_contained(dot.lhsBatching, ragged)      ? RaggedDot::batch
             : llvm::is_contained(dot.lhsContracting, ragged) ? RaggedDot::contraction
                                                              : RaggedDot::rows;
  if ((dot.mode == RaggedDot::rows && dot.lhsFree.size() != 1) ||
      (dot.mode == RaggedDot::contraction && dot.lhsContracting.size() != 1))
    return "lhs has other rows or other contracted dimensions besides the ragged one";
  if (dot.groupDim.has_value() != (dot.mode == RaggedDot::rows))
    return "rhs needs a group dimension exactly if the ragged dimension is a row of lhs";
  const int64_t groups = typeOf(dot.sizes).getShape().back();
  Dims expected = shapeOf(dot.lhs, dot.lhsBatching), sizes = expected;
  if (dot.mode == RaggedDot::contraction)
    expected.insert(expected.begin(), groups);
  llvm::append_range(expected, shapeOf(dot.lhs, dot.lhsFree));
  llvm::append_range(expected, shapeOf(dot.rhs, dot.rhsFree));
  sizes.push_back(groups);
  if (ArrayRef(expected) != dot.result.getShape() ||
      (dot.groupDim && sizeOf(dot.rhs, {*dot.groupDim}) != groups))
    return "its result or its groups do not have the shape that follows from its operands";
  if (dot.mode != RaggedDot::batch && typeOf(dot.sizes).getRank() != 1 &&
      typeOf(dot.sizes).getShape() != ArrayRef(sizes))
    return "its group sizes do not have one row for each matrix";
  return nullptr;
}

/// Extends TensorBuilder by functions that only these expansions need.
class Emitter : public TensorBuilder {
public:
  using TensorBuilder::TensorBuilder;

  using TensorBuilder::dot, TensorBuilder::iota, TensorBuilder::number;
  Value number(Dims shape, Type element, int64_t value) {
    return number(RankedTensorType::get(shape, element), static_cast<double>(value));
  }
  Value numberLike(Value like, int64_t value) {
    return number(typeOf(like), static_cast<double>(value));
  }
  Value iota(Dims shape, Type element, int64_t dim) {
    return iota(RankedTensorType::get(shape, element), dim);
  }
  Value isLess(Value a, Value b) { return compare(a, stablehlo::ComparisonDirection::LT, b); }
  Value isEqual(Value a, Value b) { return compare(a, stablehlo::ComparisonDirection::EQ, b); }
  /// The value where the mask holds, and zero elsewhere.
  Value keep(Value mask, Value value) { return select(mask, value, numberLike(value, 0)); }
  /// Permutes the dimensions into the order of the lists, and merges those of each list into one.
  Value arrange(Value value, ArrayRef<Dims> lists) {
    Dims permutation, merged;
    for (const Dims &dims : lists) {
      llvm::append_range(permutation, dims);
      merged.push_back(sizeOf(value, dims));
    }
    return reshape(transpose(value, permutation), merged);
  }
  Value sumOver(Value value, int64_t dim) {
    Value zero = number({}, typeOf(value).getElementType(), 0);
    return reduce(value, zero, dim,
                  [&](ValueRange v) { return SmallVector<Value>{add(v[0], v[1])}; })
        .front();
  }
  /// A product with the given batching and contracting dimensions.
  Value dot(Value lhs, Value rhs, RankedTensorType type, Dims lhsBatching, Dims rhsBatching,
            Dims lhsContracting, Dims rhsContracting, ArrayAttr precision) {
    auto numbers = stablehlo::DotDimensionNumbersAttr::get(
        builder.getContext(), lhsBatching, rhsBatching, lhsContracting, rhsContracting);
    return stablehlo::DotGeneralOp::create(builder, location, type, lhs, rhs, numbers, precision,
                                           nullptr);
  }
};

/// The number of rows in a tile. In addition to its rows, a tile has a constant cost, in units of
/// rows: loading the weights, or adding the partial sum. There are about length / rows + groups
/// tiles, so the total cost is least at the square root of constant * length / groups.
int64_t rowsOfTile(int64_t length, int64_t groups, int64_t constant) {
  constexpr int64_t least = 64, most = 1024; // of the matrix units of GPUs, and of padding
  int64_t rows = least;
  while (rows < most && 2 * rows * rows <= constant * ((length + groups - 1) / groups))
    rows *= 2;
  return std::min(rows, length);
}

/// The tiles of `matrices` ragged matrices, each with `length` rows in `groups` groups. Positions
/// are integers of type `index`, one row of them for each matrix.
struct Tiles {
  Tiles(Emitter &emit, const RaggedDot &dot, int64_t matrices, int64_t length, int64_t constant);

  /// For each of `count` positions of a matrix, the value of the group with begin <= position <
  /// end; 0 if there is none.
  Value pick(Value begin, Value end, Value value, int64_t count) const {
    const Dims shape{matrices, count, groups};
    Value at = emit.iota(shape, index, 1);
    Value inside = emit.binary<stablehlo::AndOp>(
        emit.compare(emit.broadcast(begin, shape, {0, 2}), stablehlo::ComparisonDirection::LE, at),
        emit.isLess(at, emit.broadcast(end, shape, {0, 2})));
    return emit.sumOver(emit.keep(inside, emit.broadcast(value, shape, {0, 2})), 2);
  }
  Value pickForTiles(Value value) const { return pick(tileBegin, tileEnd, value, count); }
  /// Adds the number of the matrix times `step` to positions with dimensions [matrix, ...].
  Value ofMatrix(Value positions, int64_t step) const {
    Dims shape(typeOf(positions).getShape());
    Value base = emit.multiply(emit.iota(shape, index, 0), emit.number(shape, index, step));
    return matrices == 1 ? positions : emit.add(positions, base);
  }
  /// For each position in a tile, the row in its matrix: [matrix, tile, position].
  Value rowsOfTiles() const {
    const Dims shape{matrices, count, rows};
    Value first =
        emit.add(pickForTiles(shift), emit.multiply(emit.iota({matrices, count}, index, 1),
                                                    emit.number({matrices, count}, index, rows)));
    return emit.add(emit.broadcast(first, shape, {0, 1}), emit.iota(shape, index, 2));
  }

  Emitter &emit;
  Type index;
  int64_t matrices, length, groups, rows, count; // count: tiles of one matrix
  Value begin, end;                              // of the rows of each group: [matrix, group]
  Value tileBegin, tileEnd;                      // of its tiles
  Value shift; // the number of the first row of a group, less that of its first place in a tile
};

Tiles::Tiles(Emitter &emit, const RaggedDot &dot, int64_t matrices, int64_t length,
             int64_t constant)
    : emit(emit), matrices(matrices), length(length), groups(typeOf(dot.sizes).getShape().back()) {
  rows = rowsOfTile(length, groups, constant);
  // Every group that has rows may have one partly filled tile.
  count = (length + std::min(groups, length) * (rows - 1)) / rows;
  // The largest number is a position in the tiles of all matrices, or a sum of sizes that are each
  // at most the length; adding two such numbers must not overflow.
  const bool isSmall = length <= INT32_MAX / groups && count <= INT32_MAX / 2 / rows / matrices;
  index = emit.builder.getIntegerType(isSmall ? 32 : 64);

  const Dims shape{matrices, groups};
  Value sizes = dot.sizes;
  // Clamp in the type of the sizes: not every type holds the length.
  auto type = cast<IntegerType>(typeOf(sizes).getElementType());
  const unsigned bits = type.getWidth() - (type.isUnsigned() ? 0 : 1);
  sizes = emit.binary<stablehlo::MaximumOp>(sizes, emit.numberLike(sizes, 0));
  if (bits >= 63 || length < (int64_t(1) << bits))
    sizes = emit.binary<stablehlo::MinimumOp>(sizes, emit.numberLike(sizes, length));
  sizes = emit.convert(sizes, index);
  sizes =
      typeOf(sizes).getRank() == 1 ? emit.broadcast(sizes, shape, {1}) : emit.reshape(sizes, shape);

  // The exclusive and the inclusive prefix sums of the groups' values.
  auto sums = [&](Value values) {
    const Dims square{matrices, groups, groups};
    Value other = emit.iota(square, index, 2), own = emit.iota(square, index, 1);
    Value before =
        emit.sumOver(emit.keep(emit.isLess(other, own), emit.broadcast(values, square, {0, 2})), 2);
    return std::pair(before, emit.add(before, values));
  };
  Value most = emit.number(shape, index, length);
  std::tie(begin, end) = sums(sizes);
  begin = emit.binary<stablehlo::MinimumOp>(begin, most);
  end = emit.binary<stablehlo::MinimumOp>(end, most);
  Value tileRows = emit.number(shape, index, rows);
  Value padded = emit.add(emit.subtract(end, begin), emit.number(shape, index, rows - 1));
  std::tie(tileBegin, tileEnd) = sums(emit.binary<stablehlo::DivideOp>(padded, tileRows));
  shift = emit.subtract(begin, emit.multiply(tileBegin, tileRows));
}

/// The rows of lhs are ragged: each tile of them is multiplied by the weights of its group.
Value expandRows(Emitter &emit, const RaggedDot &dot) {
  const int64_t matrices = sizeOf(dot.lhs, dot.lhsBatching), length = sizeOf(dot.lhs, dot.lhsFree);
  const int64_t columns = sizeOf(dot.rhs, dot.rhsFree);
  // Loading weights from memory takes as long as 64 products with each of them.
  Tiles tiles(emit, dot, matrices, length, /*constant=*/64);
  const int64_t count = tiles.count, rows = tiles.rows;

  Dims table = dot.lhsBatching, stack = dot.rhsBatching;
  table.push_back(dot.lhsFree[0]);
  stack.push_back(*dot.groupDim);
  Value from = emit.reshape(tiles.ofMatrix(tiles.rowsOfTiles(), length), {matrices * count, rows});
  Value lhs = emit.gatherRows(emit.arrange(dot.lhs, {table, dot.lhsContracting}), from);
  Value group = tiles.pickForTiles(emit.iota({matrices, tiles.groups}, tiles.index, 1));
  group = emit.reshape(tiles.ofMatrix(group, tiles.groups), {matrices * count});
  Value rhs =
      emit.gatherRows(emit.arrange(dot.rhs, {stack, dot.rhsContracting, dot.rhsFree}), group);
  auto type = RankedTensorType::get({matrices * count, rows, columns}, dot.result.getElementType());
  Value product = emit.dot(lhs, rhs, type, {0}, {0}, {2}, {1}, dot.precision);

  // Row r of a group is at position r - shift in the tiles of its matrix.
  const Dims all{matrices, length}, flat{matrices * length};
  Value place = emit.subtract(emit.iota(all, tiles.index, 1),
                              tiles.pick(tiles.begin, tiles.end, tiles.shift, length));
  place = emit.reshape(tiles.ofMatrix(place, count * rows), flat);
  Value result = emit.gatherRows(emit.reshape(product, {matrices * count * rows, columns}), place);
  // A row that is in no group is zero.
  Value ones = emit.number({matrices, tiles.groups}, tiles.index, 1);
  Value found = tiles.pick(tiles.begin, tiles.end, ones, length);
  Value isInGroup = emit.isEqual(found, emit.numberLike(found, 1));
  isInGroup = emit.broadcast(emit.reshape(isInGroup, flat), {matrices * length, columns}, {0});
  return emit.reshape(emit.keep(isInGroup, result), Dims(dot.result.getShape()));
}

/// The type in which partial sums are accumulated.
Type sumType(Type element) {
  if (element.getIntOrFloatBitWidth() >= 32)
    return element;
  Builder builder(element.getContext());
  if (isa<FloatType>(element))
    return builder.getF32Type();
  return element;
}

/// The contraction is ragged: each tile of it makes a partial sum for its group.
Value expandContraction(Emitter &emit, const RaggedDot &dot) {
  const int64_t matrices = sizeOf(dot.lhs, dot.lhsBatching),
                length = sizeOf(dot.lhs, dot.lhsContracting);
  const int64_t lhsSize = sizeOf(dot.lhs, dot.lhsFree), rhsSize = sizeOf(dot.rhs, dot.rhsFree);
  // A partial sum is written and read once more, which takes as long as 256 products per element.
  Tiles tiles(emit, dot, matrices, length, /*constant=*/256);
  const int64_t count = tiles.count, rows = tiles.rows, groups = tiles.groups;

  Value from = tiles.rowsOfTiles();
  Value limit = emit.broadcast(tiles.pickForTiles(tiles.end), {matrices, count, rows}, {0, 1});
  Value isInGroup = emit.reshape(emit.isLess(from, limit), {matrices * count, rows});
  from = emit.reshape(tiles.ofMatrix(from, length), {matrices * count, rows});
  auto side = [&](Value value, Dims table, const Dims &contracting, const Dims &free) {
    table.push_back(contracting[0]);
    Value rowsOf = emit.gatherRows(emit.arrange(value, {table, free}), from);
    // Mask both operands: zero times an infinity of another group would be NaN.
    return emit.keep(emit.broadcast(isInGroup, Dims(typeOf(rowsOf).getShape()), {0, 1}), rowsOf);
  };
  Value lhs = side(dot.lhs, dot.lhsBatching, dot.lhsContracting, dot.lhsFree);
  Value rhs = side(dot.rhs, dot.rhsBatching, dot.rhsContracting, dot.rhsFree);
  auto type = RankedTensorType::get({matrices * count, lhsSize, rhsSize},
                                    sumType(dot.result.getElementType()));
  Value partial = emit.dot(lhs, rhs, type, {0}, {0}, {1}, {1}, dot.precision);

  // The sum of the partial sums of each group's tiles, in order.
  const Dims shape{groups, matrices, count, lhsSize * rhsSize}, marks{groups, matrices, count};
  Value own = tiles.pickForTiles(emit.iota({matrices, groups}, tiles.index, 1));
  Value isOwn = emit.isEqual(emit.iota(marks, tiles.index, 0), emit.broadcast(own, marks, {1, 2}));
  partial = emit.reshape(partial, {matrices, count, lhsSize * rhsSize});
  Value result = emit.sumOver(
      emit.keep(emit.broadcast(isOwn, shape, {0, 1, 2}), emit.broadcast(partial, shape, {1, 2, 3})),
      2);
  return emit.reshape(emit.convert(result, dot.result.getElementType()),
                      Dims(dot.result.getShape()));
}

Value expand(Emitter &emit, const RaggedDot &dot) {
  switch (dot.mode) {
  case RaggedDot::rows:
    return expandRows(emit, dot);
  case RaggedDot::contraction:
    return expandContraction(emit, dot);
  case RaggedDot::batch:
    return emit.dot(dot.lhs, dot.rhs, dot.result, dot.lhsBatching, dot.rhsBatching,
                    dot.lhsContracting, dot.rhsContracting, dot.precision);
  }
  llvm_unreachable("all modes have been handled");
}

} // namespace

void expandRaggedDots(ModuleOp module) {
  SmallVector<stablehlo::CompositeOp> composites;
  module.walk([&](stablehlo::CompositeOp op) {
    if (op.getName() == "chlo.ragged_dot")
      composites.push_back(op);
  });
  for (stablehlo::CompositeOp op : composites) {
    RaggedDot dot;
    if (const char *refusal = readRaggedDot(op, dot)) {
      remark::missed(op.getLoc(), remark::RemarkOpts::name("inline").category("simplify"))
          << remark::add("{0}", "chlo.ragged_dot is replaced by its decomposition")
          << remark::reason("{0}", refusal);
      continue;
    }
    OpBuilder builder(op);
    Emitter emit(builder, op.getLoc());
    op->getResult(0).replaceAllUsesWith(expand(emit, dot));
    op.erase();
  }
}

} // namespace tilewright::simplify
