// The gradients of attention as loops over blocks: scores and weights are computed again, in
// registers, from numbers of rows.
#include "tilewright/transform/tile/attention/EmitGradients.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/transform/tile/attention/AttentionBuilder.h"
#include "tilewright/transform/tile/attention/RowsOfBody.h"
#include "tilewright/transform/tile/attention/VisibleKeys.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::tile {

exec::SoftmaxDotBackwardOp gradientsOf(exec::FusionOp fusion) {
  auto found = fusion.getBody().front().getOps<exec::SoftmaxDotBackwardOp>();
  return found.empty() ? exec::SoftmaxDotBackwardOp() : *found.begin();
}

namespace {

/// Operands of the op.
enum : unsigned { queries, keys, values, cotangents, results, multipliedOperands };
/// Results of the op.
enum : int64_t { byQueries, byKeys, byValues, rowDots };

/// A gradient: the sum over blocks of a tile of the body's results, times a tile of an operand.
struct Sum {
  unsigned result; // of the op
  bool isOfWeights;
  unsigned operand;
  size_t column; // the depth or the width
};

class GradientEmitter : AttentionBuilder {
public:
  GradientEmitter(OpBuilder &builder, exec::FusionOp fusion, exec::SoftmaxDotBackwardOp op,
                  const Capacities &capacities)
      : AttentionBuilder(builder, fusion, op, op.getSizes(), op.getDims(), multipliedOperands,
                         op.getTf32(), capacities),
        op(op), yield(cast<exec::YieldGradientOp>(op.getBody().front().getTerminator())),
        isOverKeys(op.getGradients().front() == byQueries), row(isOverKeys ? query : key),
        other(isOverKeys ? key : query), body(op) {
    findSums();
    chooseTiles();
    findMask();
  }

  KernelOp emit(StringRef name);

private:
  void findSums();
  void chooseTiles();
  void findMask();
  Type roundedType(const Sum &sum) {
    return sum.isOfWeights ? op.getWeightType() : op.getGradientType();
  }
  /// The operands of the product that argument `number` of the body is, and the dimension along
  /// which they are multiplied.
  struct Operands {
    unsigned ofRow, ofOther;
    size_t summed;
  };
  Operands operandsOf(unsigned number) const;
  Value product(unsigned number);
  Value dotOfRows();
  /// The numbers of the rows of queries that the body reads, and values computed from these.
  using Rows = llvm::DenseMap<Value, Value>;
  Rows rowsOf(ArrayRef<Value> values);
  /// A value of the body for each row, at all elements of a tile.
  Value spreadRows(Value rows);
  /// Weights or gradients of the current block, for each sum.
  SmallVector<Value> elementsOfBlock();
  SmallVector<Value> iteration(ValueRange carried);
  SmallVector<Value> visitHeads(size_t head, ValueRange carried);
  SmallVector<Value> visitBlocks(ValueRange carried);
  /// The number of times that the current block is computed, 0 or 1; null if it always is.
  Value countOfBlock();
  Value isAnyUndecided();

  exec::SoftmaxDotBackwardOp op;
  exec::YieldGradientOp yield;
  const bool isOverKeys;   // whether a point has a block of queries
  const size_t row, other; // dimensions of a point's block, and of the blocks that it visits
  const RowsOfBody body;
  SmallVector<Sum> sums;
  SmallVector<Value> roots; // of the body, for each sum
  bool mayApproximate = true;
  bool isHeld = false;                    // whether a point reads the operands of its rows once
  llvm::DenseMap<unsigned, Value> held;   // operands of rows
  llvm::DenseMap<unsigned, Value> loaded; // parts of operands of the visited block
  Rows heldRows;
  Value heldDots;
  /// The mask, and a value for each row of queries: whether masked elements have weights, too.
  Value mask, undecided;
  std::optional<KeyRange> visible; // by a point's queries
  Value anyUndecided;              // of a point's queries
};

void GradientEmitter::findSums() {
  for (auto [number, gradient] : llvm::enumerate(op.getGradients())) {
    const auto result = static_cast<unsigned>(number);
    if (gradient == byQueries)
      sums.push_back({result, false, keys, depth});
    else if (gradient == byKeys)
      sums.push_back({result, false, queries, depth});
    else if (gradient == byValues)
      sums.push_back({result, true, cotangents, width});
  }
  for (const Sum &sum : sums)
    roots.push_back(sum.isOfWeights ? yield.getWeight() : yield.getGradient());
}

/// The tiles of a thread must fit into its registers: for each row of a warp, the sums, both
/// products, and the operands of the rows unless they are read again for each block.
void GradientEmitter::chooseTiles() {
  constexpr int64_t maxRows = 64, heldBytes = 256, maxRegisters = 120,
                    columnsOfBlock[] = {64, 32, 16};
  int64_t bytes = 2;
  for (unsigned operand : {queries, keys, values, cotangents})
    bytes = std::max<int64_t>(bytes, elementOf(operand).getIntOrFloatBitWidth() / 8);
  tile[row] =
      std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizes[row]))), matrixRows, maxRows);
  for (size_t dim : {depth, width})
    tile[dim] = std::min(roundUp(sizes[dim]), heldBytes / bytes);
  for (int64_t columns : columnsOfBlock) {
    // A warp has 16 rows, and 32 lanes with registers of 4 bytes.
    int64_t registers = columns;
    // Numbers of rows of queries: about three, for a quarter of the columns.
    if (!isOverKeys)
      registers += 3 * columns / 4;
    for (const Sum &sum : sums)
      registers += tile[sum.column] / 2;
    registers += (tile[depth] + tile[width]) * bytes / 8;
    tile[other] = std::min(roundUp(sizes[other]), columns);
    isHeld = registers <= maxRegisters;
    if (isHeld)
      break;
  }
  for (unsigned number : {ofProduct, ofCotangents}) {
    const Operands factors = operandsOf(number);
    mayApproximate &=
        isApproximate(elementOf(factors.ofRow), elementOf(factors.ofOther), tile[factors.summed]);
  }
  for (const Sum &sum : sums)
    mayApproximate &= isApproximate(roundedType(sum), elementOf(sum.operand), tile[other]);
}

/// An element counts if the mask shows it, or if its row has no score beside which the weight of a
/// masked element is 0.
void GradientEmitter::findMask() {
  auto both =
      yield.getVisible() ? yield.getVisible().getDefiningOp<arith::OrIOp>() : arith::OrIOp();
  if (!both || !body.isOfRows(both.getRhs()) || body.isOfRows(both.getLhs()))
    return;
  mask = both.getLhs();
  undecided = both.getRhs();
}

GradientEmitter::Operands GradientEmitter::operandsOf(unsigned number) const {
  const bool isProduct = number == ofProduct;
  const unsigned ofQueries = isProduct ? queries : cotangents, ofKeys = isProduct ? keys : values;
  return {isOverKeys ? ofQueries : ofKeys, isOverKeys ? ofKeys : ofQueries,
          isProduct ? depth : width};
}

/// The products of the rows with the current block.
Value GradientEmitter::product(unsigned number) {
  const auto [ofRow, ofOther, summed] = operandsOf(number);
  Value none = splat(0, {tile[row], tile[other]});
  if (blocks(summed) == 1) {
    Value left = isHeld ? held.lookup(ofRow) : operandTile(ofRow, {row, summed});
    Value &part = loaded[ofOther];
    part = loadPart(ofOther, {other, summed});
    return multiply(left, elementOf(ofRow), operandTile(ofOther, {summed, other}, part),
                    elementOf(ofOther), none);
  }
  Value column = at[summed];
  Value product =
      loop(index(blocks(summed)), none,
           [&, left = ofRow, right = ofOther,
            along = summed](Value piece, ValueRange partial) -> SmallVector<Value> {
             at[along] = times(piece, tile[along]);
             return {multiply(operandTile(left, {row, along}), elementOf(left),
                              operandTile(right, {along, other}), elementOf(right), partial[0])};
           })[0];
  at[summed] = column;
  return product;
}

/// The products of the rows of the cotangent and of the result.
Value GradientEmitter::dotOfRows() {
  if (op.getReadsRowDot())
    return operandTile(results, {query});
  const Type single = builder.getF32Type();
  auto add = [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::AddFOp::create(inside, loc, v[0], v[1]);
  };
  auto addPiece = [&](Value sum) -> Value {
    Value products =
        map({operandTile(cotangents, {query, width}), operandTile(results, {query, width})}, single,
            {tile[query], tile[width]}, [&](OpBuilder &inside, ValueRange v) -> Value {
              Value factors[2];
              for (auto [i, operand] :
                   llvm::enumerate(std::array{unsigned(cotangents), unsigned(results)}))
                factors[i] = elements::emitConversion(inside, loc, elementOf(operand), single,
                                                      v[unsigned(i)]);
              return arith::MulFOp::create(inside, loc, factors[0], factors[1]);
            });
    Value here = reduce(products, {1}, 0, add);
    return sum ? map({sum, here}, single, {tile[query]}, add) : here;
  };
  if (blocks(width) == 1)
    return addPiece({});
  Value column = at[width];
  Value dots = loop(index(blocks(width)), splat(0, tile[query]),
                    [&](Value piece, ValueRange partial) -> SmallVector<Value> {
                      at[width] = times(piece, tile[width]);
                      return {addPiece(partial[0])};
                    })[0];
  at[width] = column;
  return dots;
}

GradientEmitter::Rows GradientEmitter::rowsOf(ArrayRef<Value> values) {
  const SmallVector<int64_t> shape = {tile[query]};
  Rows rows;
  auto tileOf = [&](BlockArgument argument) -> Value {
    Value &known = rows[argument];
    const unsigned number = argument.getArgNumber();
    if (!known)
      known = number == ofQuery    ? numbers(shape, 0, query)
              : number != ofRowDot ? operandTile(number, {query})
              : heldDots           ? heldDots
                                   : dotOfRows();
    return known;
  };
  SmallVector<Value> computed, tiles;
  SmallVector<BlockArgument> arguments;
  for (Value value : values) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      tileOf(argument);
      continue;
    }
    computed.push_back(value);
    for (BlockArgument argument : argumentsOf(value))
      if (!llvm::is_contained(arguments, argument))
        arguments.push_back(argument);
  }
  if (computed.empty())
    return rows;
  for (BlockArgument argument : arguments)
    tiles.push_back(tileOf(argument));
  SmallVector<Type> types;
  for (Value value : computed)
    types.push_back(RankedTensorType::get(shape, value.getType()));
  const SmallVector<Value> made = mapAll(tiles, types, [&](OpBuilder &inside, ValueRange v) {
    IRMapping mapping;
    for (auto [argument, element] : llvm::zip_equal(arguments, v))
      mapping.map(argument, element);
    SmallVector<Value> elements;
    for (Value value : computed)
      elements.push_back(cloneValue(inside, value, mapping));
    return elements;
  });
  for (auto [value, result] : llvm::zip_equal(computed, made))
    rows[value] = result;
  return rows;
}

Value GradientEmitter::spreadRows(Value rows) {
  return view(rows, dim(isOverKeys ? 0 : 1), {tile[row], tile[other]});
}

SmallVector<Value> GradientEmitter::elementsOfBlock() {
  const SmallVector<int64_t> shape = {tile[row], tile[other]};
  const RowsOfBody::Inputs needed = body.inputsOf(roots);
  const Rows rows = isOverKeys ? heldRows : rowsOf(needed.rows);
  SmallVector<Value> sources, tiles; // values of the body, and their tiles
  for (Value value : needed.rows) {
    sources.push_back(value);
    tiles.push_back(spreadRows(rows.lookup(value)));
  }
  for (BlockArgument argument : needed.elements) {
    const unsigned number = argument.getArgNumber();
    sources.push_back(argument);
    tiles.push_back(number == ofProduct || number == ofCotangents ? product(number)
                    : number == ofQuery ? numbers(shape, isOverKeys ? 0 : 1, query)
                    : number == ofKey   ? numbers(shape, isOverKeys ? 1 : 0, key)
                                        : operandTile(number, {row, other}));
  }
  // Beyond the last row or key of a visited block, the body's value may be anything.
  if (isRagged(other))
    tiles.push_back(numbers(shape, 1, other));
  const SmallVector<Type> types(roots.size(), RankedTensorType::get(shape, builder.getF32Type()));
  auto approximate = [&](OpBuilder &inside, Operation *one, IRMapping &mapping) -> Value {
    auto exponential = dyn_cast<math::ExpOp>(one);
    if (!mayApproximate || !exponential || !exponential.getType().isF32())
      return {};
    Value factor = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(float(log2E)));
    Value power =
        arith::MulFOp::create(inside, loc, mapping.lookup(exponential.getOperand()), factor);
    return math::Exp2Op::create(inside, loc, power, arith::FastMathFlags::afn);
  };
  return mapAll(tiles, types, [&](OpBuilder &inside, ValueRange v) {
    IRMapping mapping;
    for (auto [source, element] : llvm::zip(sources, v))
      mapping.map(source, element);
    Value isElement;
    if (isRagged(other)) {
      Value end = arith::ConstantIntOp::create(inside, loc, sizes[other], 32);
      isElement = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v.back(), end);
    }
    SmallVector<Value> results;
    for (Value root : roots) {
      Value result = cloneValue(inside, root, mapping, approximate);
      if (isElement) {
        Value zero = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(0));
        result = arith::SelectOp::create(inside, loc, isElement, result, zero);
      }
      results.push_back(result);
    }
    return results;
  });
}

SmallVector<Value> GradientEmitter::iteration(ValueRange carried) {
  loaded.clear();
  const SmallVector<Value> factors = elementsOfBlock();
  const Type single = builder.getF32Type();
  SmallVector<Value> next;
  for (auto [sum, factor, before] : llvm::zip_equal(sums, factors, carried)) {
    const Type type = roundedType(sum);
    // A product may have read the same part of memory.
    Value part = blocks(sum.column) == 1 ? loaded.lookup(sum.operand) : Value();
    next.push_back(multiply(rounded(factor, single, type), type,
                            operandTile(sum.operand, {other, sum.column}, part),
                            elementOf(sum.operand), before));
  }
  return next;
}

/// Visits the blocks of all heads that share the rows of a point.
SmallVector<Value> GradientEmitter::visitHeads(size_t head, ValueRange carried) {
  if (head == query)
    return visitBlocks(carried);
  if (sizes[head] == 1 || has(op->getNumOperands() + sums.front().result, head))
    return visitHeads(head + 1, carried);
  return loop(index(sizes[head]), carried, [&](Value number, ValueRange inner) {
    at[head] = number;
    return visitHeads(head + 1, inner);
  });
}

SmallVector<Value> GradientEmitter::visitBlocks(ValueRange carried) {
  return loop(index(blocks(other)), carried, [&](Value block, ValueRange before) {
    at[other] = times(block, tile[other]);
    Value count = countOfBlock();
    if (!count)
      return iteration(before);
    return loop(count, before, [&](Value, ValueRange inner) { return iteration(inner); });
  });
}

Value GradientEmitter::isAnyUndecided() {
  const SmallVector<int64_t> shape = {tile[query]};
  Value rows = rowsOf(undecided).lookup(undecided);
  Value numbersOfRows =
      map({rows, numbers(shape, 0, query)}, builder.getF32Type(), shape,
          [&](OpBuilder &inside, ValueRange v) -> Value {
            auto number = [&](float value) -> Value {
              return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(value));
            };
            Value end = arith::ConstantIntOp::create(inside, loc, sizes[query], 32);
            Value isQuery =
                arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[1], end);
            Value is = arith::AndIOp::create(inside, loc, v[0], isQuery);
            return arith::SelectOp::create(inside, loc, is, number(1), number(0));
          });
  Value most = reduce(numbersOfRows, {0}, 0, [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::MaximumFOp::create(inside, loc, v[0], v[1]);
  });
  Value none = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                               tensor::ExtractOp::create(builder, loc, most, ValueRange()), none);
}

Value GradientEmitter::countOfBlock() {
  if (!mask)
    return {};
  const UniformInput known = [&](unsigned argument) { return uniform(argument); };
  std::optional<KeyRange> range = visible;
  if (!isOverKeys)
    range = visibleKeys(builder, {mask, ofQuery, sizes[key]},
                        {at[query], join<arith::AddIOp>(at[query], index(tile[query] - 1))}, known);
  if (!range)
    return {};
  Value zero = index(0), one = index(1), end = join<arith::AddIOp>(at[key], index(tile[key]));
  Value isShown = join<arith::AndIOp>(compare(arith::CmpIPredicate::slt, at[key], range->end),
                                      compare(arith::CmpIPredicate::sgt, end, range->first));
  if (isOverKeys)
    return choose(join<arith::OrIOp>(isShown, anyUndecided), one, zero);
  // Read the numbers of the rows only if the mask does not decide.
  return loop(choose(isShown, zero, one), one, [&](Value, ValueRange) -> SmallVector<Value> {
    return {choose(isAnyUndecided(), one, zero)};
  })[0];
}

KernelOp GradientEmitter::emit(StringRef name) {
  SmallVector<size_t> gridDims;
  for (size_t head = 0; head < query; ++head)
    if (blocks(head) > 1 && has(op->getNumOperands() + sums.front().result, head))
      gridDims.push_back(head);
  gridDims.push_back(row);
  // A point computes the same piece of the columns of all gradients.
  size_t widest = sums.front().column;
  for (const Sum &sum : sums)
    if (blocks(sum.column) > blocks(widest))
      widest = sum.column;
  const int64_t pieces = blocks(widest);
  if (pieces > 1)
    gridDims.push_back(widest);
  OpBuilder::InsertionGuard guard(builder);
  KernelOp kernel = openGrid(name, gridDims, tile[row] / matrixRows);
  Value piece = pieces > 1 ? Value(kernel.getCoordinates().back()) : index(0);
  // Gradients with fewer pieces are computed by several points, but stored by one.
  for (const Sum &sum : sums)
    if (sum.column != widest && pieces > 1)
      at[sum.column] =
          times(join<arith::MinSIOp>(piece, index(blocks(sum.column) - 1)), tile[sum.column]);

  for (unsigned number : {ofProduct, ofCotangents}) {
    const Operands factors = operandsOf(number);
    if (isHeld && blocks(factors.summed) == 1)
      held[factors.ofRow] = operandTile(factors.ofRow, {row, factors.summed});
  }
  const auto *dots = llvm::find(op.getGradients(), rowDots);
  if (dots != op.getGradients().end())
    heldDots = dotOfRows();
  if (isOverKeys) {
    heldRows = rowsOf(body.inputsOf(roots).rows);
    if (mask)
      visible = visibleKeys(builder, {mask, ofQuery, sizes[key]},
                            {at[query], join<arith::AddIOp>(at[query], index(tile[query] - 1))},
                            [&](unsigned argument) { return uniform(argument); });
    if (visible)
      anyUndecided = isAnyUndecided();
  }
  SmallVector<Value> zeros;
  for (const Sum &sum : sums)
    zeros.push_back(splat(0, {tile[row], tile[sum.column]}));
  const SmallVector<Value> all = visitHeads(0, zeros);

  Value isFirst = pieces > 1 ? compare(arith::CmpIPredicate::eq, piece, index(0)) : Value();
  auto dimsOfResult = [&](unsigned result) { return dimsOf(op->getNumOperands() + result); };
  for (auto [sum, total] : llvm::zip_equal(sums, all)) {
    Value result = op.getResult(sum.result), target = kernel.getOutputs()[sum.result];
    Value stored = rounded(total, builder.getF32Type(), typeOf(result).getElementType());
    if (blocks(sum.column) == pieces)
      storeTile(stored, target, dimsOfResult(sum.result), {row, sum.column});
    else
      storeIf(compare(arith::CmpIPredicate::slt, piece, index(blocks(sum.column))), stored, target,
              dimsOfResult(sum.result), {row, sum.column});
  }
  if (heldDots) {
    const auto number = static_cast<unsigned>(dots - op.getGradients().begin());
    Value target = kernel.getOutputs()[number];
    if (pieces == 1)
      storeTile(heldDots, target, dimsOfResult(number), {query});
    else
      storeIf(isFirst, heldDots, target, dimsOfResult(number), {query});
  }
  return kernel;
}

} // namespace

KernelOp emitGradientKernel(OpBuilder &builder, exec::FusionOp fusion, StringRef name,
                            const Capacities &capacities, std::string &reason) {
  exec::SoftmaxDotBackwardOp op = gradientsOf(fusion);
  const bool hasQueries = llvm::is_contained(op.getGradients(), byQueries),
             hasOthers = llvm::is_contained(op.getGradients(), byKeys) ||
                         llvm::is_contained(op.getGradients(), byValues);
  if (hasQueries == hasOthers) {
    reason = "one kernel sums over keys or over queries, but the op needs both";
    return {};
  }
  return GradientEmitter(builder, fusion, op, capacities).emit(name);
}

} // namespace tilewright::tile
