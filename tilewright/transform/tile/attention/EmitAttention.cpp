// Attention as a loop over blocks of keys, with scores, weights and sums in registers.
#include "tilewright/transform/tile/attention/EmitAttention.h"

#include "tilewright/dialect/elements/Accuracy.h"
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/tile/attention/AttentionBuilder.h"
#include "tilewright/transform/tile/attention/AttentionForm.h"
#include "tilewright/transform/tile/attention/RowsOfBody.h"
#include "tilewright/transform/tile/attention/VisibleKeys.h"
#include "tilewright/transform/tile/pipeline/loops/LoopKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>
#include <utility>

#define DEBUG_TYPE "tile-fusions"

using namespace mlir;

namespace tilewright::tile {

exec::SoftmaxDotOp attentionOf(exec::FusionOp fusion) {
  auto found = fusion.getBody().front().getOps<exec::SoftmaxDotOp>();
  return found.empty() ? exec::SoftmaxDotOp() : *found.begin();
}

namespace {

using Form = AttentionForm;

/// Beside a score that is greater by this, a weight is 0 in f32.
constexpr float decisive = 104;

class AttentionEmitter : AttentionBuilder {
public:
  AttentionEmitter(OpBuilder &builder, exec::FusionOp fusion, exec::SoftmaxDotOp op,
                   const Capacities &capacities, Form form)
      : AttentionBuilder(builder, fusion, op, op.getSizes(), op.getDims(), /*multiplied=*/3,
                         op.getTf32(), capacities),
        op(op), form(form) {
    chooseTiles();
    analyseScore();
  }

  KernelOp emit(StringRef name);
  /// The points of the grid, and the blocks of keys that one visits on average.
  double points() const;
  double blocksOfKeys() const;

private:
  void chooseTiles();
  void analyseScore();
  Value products();
  Value scores(Value products);
  Value masked(Value scores, Value products);
  /// Whether the mask hides something of the current block, as a scalar; null if that is not known.
  Value needsMask();
  /// The tiles of the arguments of the op's body that a value depends on.
  SmallVector<std::pair<BlockArgument, Value>> inputsOf(Value value, Value products);
  /// The weight of score x is 2^(x * factor + shift), with one fused multiply-add; or, without a
  /// factor, e^(x + shift). Both are values of rows. The result divides by the sum of a row's
  /// weights, so the shift need not be exactly -maximum * factor. It is finite even if all scores
  /// so far are -inf: their weights are 0 and not NaN, as a later block may have others. So with a
  /// factor the least maximum is a finite number.
  struct Exponent {
    Value factor, shift;
  };
  Exponent exponentOf(Value maximum);
  double powerBelowScale() const { return std::exp2(std::floor(std::log2(scale))); }
  float leastMaximum() const {
    constexpr float lowest = std::numeric_limits<float>::lowest();
    return mayApproximate ? lowest / std::max(float(powerBelowScale()), 1.0F) : -infinity;
  }
  Value weightsOf(Value score, const Exponent &exponent);
  /// The maximum from which weights are computed, after a block with the maximum `largest`. Any
  /// number does that is not much smaller, because the result divides by the sum of the weights. To
  /// rescale sums in tensor memory takes a warp as long as hundreds of weights, so they keep their
  /// maximum until a weight would be too large.
  Value keptMaximum(Value before, Value largest);
  /// The factor of sums whose weights have the shift of the maximum `before`.
  Value rescaling(Value before, const Exponent &exponent);
  /// Sums of values, maxima and sums of weights, after a block of keys.
  SmallVector<Value> iteration(Value block, ValueRange carried);
  /// The parts of memory of keys and values of the current block, if they are loaded ahead; once
  /// they are read, those of the block `nextBlock`, for which they leave their registers.
  Value loadedKeys, loadedValues, nextBlock;
  Value loadAhead(unsigned operand, ArrayRef<size_t> ofTile);
  Value keysOrValues(unsigned operand, ArrayRef<size_t> ofTile, Value &loaded);
  SmallVector<Value> visitKeys(ValueRange inits);
  /// Visits `count` blocks, of which `blockOf` has the numbers.
  SmallVector<Value> visitBlocks(Value count, ValueRange inits,
                                 llvm::function_ref<Value(Value)> blockOf);
  SmallVector<Value> visitMasked(const KeyRange &visible, ValueRange inits);
  Value sumOfWeights(Value weights);
  Value multiplied(Value weights);
  using Dims = std::vector<int64_t>;
  /// A value of the fusion at the elements of the result's tile. `dims` are the dimensions of the
  /// op along those of the value, as the op has them for its operands.
  Value epilogueTile(Value value, const Dims &dims);

  /// The maximum of each row's scores, from that of the unscaled scores and the sum of weights.
  Value maximumOf(Value unscaledMaximum, Value sums);
  /// The sum of e^(score - maximum) of each row, from that of weights whose shift is rounded.
  Value exactSums(Value sums, Value maximum);
  /// Stores a number for each row to a result of the op.
  void storeRows(Value rows, Value target);

  exec::SoftmaxDotOp op;
  const Form form;
  Value heldQueries; // if a point reads them once
  /// The score of a visible element is `scale` times `unscaled`, a value of the op's body. Maxima
  /// are those of the unscaled scores: the exponential scales them.
  Value unscaled;
  double scale = 1;
  Operation *scaling = nullptr; // computes the score from `unscaled`
  Value visible;                // of the op's body, if the mask is applied after `unscaled`
  float maskedScore = 0;        // unscaled
  bool mayApproximate = true;
  std::optional<KeyRange> fullyVisible;
  struct ByValue {
    bool operator()(const std::pair<Value, Dims> &a, const std::pair<Value, Dims> &b) const {
      return std::pair(a.first.getAsOpaquePointer(), a.second) <
             std::pair(b.first.getAsOpaquePointer(), b.second);
    }
  };
  std::map<std::pair<Value, Dims>, Value, ByValue> epilogue;
};

/// The tiles of a thread must fit into its registers: for each row of a warp, the sums, scores and
/// weights, the queries (unless they are read again for each block of keys) and parts of the keys.
/// Warpgroups read queries and keys from shared memory.
void AttentionEmitter::chooseTiles() {
  constexpr int64_t maxWidth = 256, wideWidth = 128, heldBytes = 256;
  tile[width] = std::min(roundUp(sizes[width]), maxWidth);
  if (form.warpgroups) {
    tile[query] = form.rows * form.warpgroups;
    tile[key] = form.keys;
    tile[depth] = roundUp(sizes[depth]);
    return;
  }
  tile[query] = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizes[query]))),
                                    form.rowsOfWarp, form.maxWarps * form.rowsOfWarp);
  tile[key] = std::min<int64_t>(roundUp(sizes[key]), tile[width] > wideWidth ? 32 : 64);
  const auto bytes = int64_t(elementOf(0).getIntOrFloatBitWidth() / 8);
  tile[depth] = std::min(roundUp(sizes[depth]), heldBytes / std::max<int64_t>(bytes, 2));
}

/// Takes the score apart: a mask, which is applied last, and a positive factor.
void AttentionEmitter::analyseScore() {
  auto yield = cast<exec::YieldScoreOp>(op.getBody().front().getTerminator());
  unscaled = yield.getScore();
  auto constantOf = [](Value value) {
    APFloat number(0.0F);
    return matchPattern(value, m_ConstantFloat(&number)) ? std::optional(number.convertToFloat())
                                                         : std::nullopt;
  };
  if (op.getMaskedScoreAttr())
    maskedScore = op.getMaskedScoreAttr().getValue().convertToFloat();
  auto choice = unscaled.getDefiningOp<arith::SelectOp>();
  if (choice && yield.getVisible() && choice.getCondition() == yield.getVisible() &&
      constantOf(choice.getFalseValue()) == maskedScore) {
    visible = yield.getVisible();
    unscaled = choice.getTrueValue();
  }
  mayApproximate = isApproximate(elementOf(0), elementOf(1), tile[depth]) &&
                   isApproximate(op.getWeightType(), elementOf(2), tile[key]);
  Operation *last = unscaled.getDefiningOp();
  if (!mayApproximate || !isa_and_present<arith::MulFOp, arith::DivFOp>(last))
    return;
  const std::optional<float> right = constantOf(last->getOperand(1)),
                             left = constantOf(last->getOperand(0));
  const bool isProduct = isa<arith::MulFOp>(last);
  // The factor must be a number of full precision, also as a power of 2.
  auto isFactor = [](std::optional<float> number) {
    constexpr float smallest = 0x1p-120F;
    return number && *number >= smallest && *number <= 1 / smallest;
  };
  if (isFactor(right)) {
    unscaled = last->getOperand(0);
    scale = isProduct ? double(*right) : 1 / double(*right);
  } else if (isProduct && isFactor(left)) {
    unscaled = last->getOperand(1);
    scale = double(*left);
  }
  if (unscaled != last->getResult(0))
    scaling = last;
  // No visible score is as low as the lowest numbers; those times the factor must be finite.
  if (std::isfinite(maskedScore)) {
    const double lowest = -0x1p125 / std::max(scale * log2E, 1.0);
    maskedScore = static_cast<float>(std::max(double(maskedScore) / scale, lowest));
  }
}

double AttentionEmitter::points() const {
  double all = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i != key && i != depth)
      all *= double(blocks(i));
  return all;
}

/// The mask is taken for a causal one, which hides half of the blocks, and shows a part of others.
double AttentionEmitter::blocksOfKeys() const {
  if (!visible)
    return double(blocks(key));
  double visited = 0;
  for (int64_t i = 0; i < blocks(query); ++i)
    visited += double(
        std::min(blocks(key),
                 int64_t(llvm::divideCeil(uint64_t((i + 1) * tile[query]), uint64_t(tile[key])))));
  return visited / double(blocks(query));
}

/// The products of the queries with a block of keys.
Value AttentionEmitter::products() {
  Value none = splat(0, {tile[query], tile[key]});
  auto add = [&](Value sums, Value queries) {
    return multiply(queries, elementOf(0), keysOrValues(1, {depth, key}, loadedKeys), elementOf(1),
                    sums);
  };
  if (heldQueries)
    return add(none, heldQueries);
  return loop(index(blocks(depth)), none, [&](Value piece, ValueRange sums) -> SmallVector<Value> {
    at[depth] = times(piece, tile[depth]);
    return {add(sums[0], operandTile(0, {query, depth}))};
  })[0];
}

SmallVector<std::pair<BlockArgument, Value>> AttentionEmitter::inputsOf(Value value,
                                                                        Value products) {
  SmallVector<BlockArgument> arguments = argumentsOf(value);
  llvm::sort(arguments,
             [](BlockArgument a, BlockArgument b) { return a.getArgNumber() < b.getArgNumber(); });
  const SmallVector<int64_t> shape = {tile[query], tile[key]};
  SmallVector<std::pair<BlockArgument, Value>> inputs;
  for (BlockArgument argument : arguments) {
    const unsigned number = argument.getArgNumber();
    inputs.push_back({argument, number == 0   ? products
                                : number == 1 ? numbers(shape, 0, query)
                                : number == 2 ? numbers(shape, 1, key)
                                              : operandTile(number, {query, key})});
  }
  return inputs;
}

/// The score of each product, and -inf beyond the last key.
Value AttentionEmitter::scores(Value products) {
  const SmallVector<int64_t> shape = {tile[query], tile[key]};
  Value scores = products;
  if (auto argument = dyn_cast<BlockArgument>(unscaled);
      !argument || argument.getArgNumber() != 0) {
    const auto inputs = inputsOf(unscaled, products);
    scores = map(llvm::to_vector(llvm::make_second_range(inputs)), builder.getF32Type(), shape,
                 [&](OpBuilder &inside, ValueRange v) {
                   IRMapping mapping;
                   for (auto [input, argument] : llvm::zip_equal(inputs, v))
                     mapping.map(input.first, argument);
                   return cloneValue(inside, unscaled, mapping);
                 });
  }
  if (!visible && sizes[key] % tile[key] == 0)
    return scores;
  Value condition = form.warpgroups ? needsMask() : Value();
  if (!condition)
    return masked(scores, products);
  // Blocks that show everything are the most: they skip the mask.
  auto branch = scf::IfOp::create(builder, loc, TypeRange(scores.getType()), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, masked(scores, products));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, scores);
  return branch.getResult(0);
}

Value AttentionEmitter::masked(Value scores, Value products) {
  auto inputs =
      visible ? inputsOf(visible, products) : SmallVector<std::pair<BlockArgument, Value>>();
  SmallVector<Value> tiles = llvm::to_vector(llvm::make_second_range(inputs));
  const SmallVector<int64_t> shape = {tile[query], tile[key]};
  tiles.append({scores, numbers(shape, 1, key)});
  return map(tiles, builder.getF32Type(), shape, [&](OpBuilder &inside, ValueRange v) {
    auto number = [&](float value) -> Value {
      return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(value));
    };
    Value score = v.drop_back().back();
    if (visible) {
      IRMapping mapping;
      for (auto [input, argument] : llvm::zip(inputs, v))
        mapping.map(input.first, argument);
      score = arith::SelectOp::create(inside, loc, cloneValue(inside, visible, mapping), score,
                                      number(maskedScore));
    }
    if (sizes[key] % tile[key] == 0)
      return score;
    Value end = arith::ConstantIntOp::create(inside, loc, sizes[key], 32);
    Value isKey = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v.back(), end);
    return arith::SelectOp::create(inside, loc, isKey, score, number(-infinity)).getResult();
  });
}

Value AttentionEmitter::needsMask() {
  if (visible && !fullyVisible)
    return {};
  Value end = join<arith::AddIOp>(at[key], index(tile[key]));
  Value last = index(sizes[key]);
  if (fullyVisible)
    last = join<arith::MinSIOp>(last, fullyVisible->end);
  Value isBeyond = compare(arith::CmpIPredicate::sgt, end, last);
  if (!fullyVisible)
    return isBeyond;
  Value isBefore = compare(arith::CmpIPredicate::slt, at[key], fullyVisible->first);
  return join<arith::OrIOp>(isBefore, isBeyond);
}

/// The sums of the rows of weights, or four for each row, of columns that one lane has.
Value AttentionEmitter::sumOfWeights(Value weights) {
  auto sum = [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::AddFOp::create(inside, loc, v[0], v[1]);
  };
  const int64_t adjacent = form.adjacent;
  if (adjacent == 0)
    return reduce(weights, {1}, 0, sum);
  const SmallVector<int64_t> shape = {tile[query], tile[key] / (4 * adjacent), 4, adjacent};
  Value parts =
      view(weights, {dim(0), dim(1) * (4 * adjacent) + dim(2) * adjacent + dim(3)}, shape);
  return reduce(parts, {1, 3}, 0, sum);
}

AttentionEmitter::Exponent AttentionEmitter::exponentOf(Value maximum) {
  const Type single = builder.getF32Type();
  const SmallVector<int64_t> rows = {tile[query]};
  auto number = [&](OpBuilder &inside, double value) -> Value {
    return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(float(value)));
  };
  if (!mayApproximate) {
    Value shift = map(maximum, single, rows, [&](OpBuilder &inside, ValueRange v) -> Value {
      Value isLeast = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OEQ, v[0],
                                            number(inside, -infinity));
      Value negated = arith::NegFOp::create(inside, loc, v[0]);
      return arith::SelectOp::create(inside, loc, isLeast, number(inside, 0), negated);
    });
    return {{}, shift};
  }
  // Below 2^k, a shift is rounded by at most 2^(k - 25). All weights of a row have this error as
  // one power of 2, for which their type has room.
  const auto &weights = cast<FloatType>(op.getWeightType()).getFloatSemantics();
  const int k = std::min(30, 25 + int(llvm::Log2_32(APFloat::semanticsMaxExponent(weights))));
  // From there on a weight is 1 or almost 0, because scores differ by an ulp or not at all. A power
  // of 2 multiplies exactly, so that equal scores have equal weights. The one below `scale`
  // overflows only if the program's scores do. It makes all other weights 0 if k is 30; if not,
  // scores below 2^60 need a greater one for that.
  const double factorOfBits = scale * log2E;
  SmallVector<std::pair<double, double>> factors = {{0.999 * std::ldexp(1, k), factorOfBits}};
  if (k < 30)
    factors.push_back({0x1p+60, std::exp2(std::ceil(std::log2(factorOfBits)))});
  auto choose = [&](OpBuilder &inside, Value maximum, llvm::function_ref<Value(double)> valueFor) {
    Value size = math::AbsFOp::create(inside, loc, maximum);
    Value chosen = valueFor(powerBelowScale());
    for (auto [end, factor] : llvm::reverse(factors)) {
      Value isBelow = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OLT, size,
                                            number(inside, end / factorOfBits));
      chosen = arith::SelectOp::create(inside, loc, isBelow, valueFor(factor), chosen);
    }
    return chosen;
  };
  Value factor = map(maximum, single, rows, [&](OpBuilder &inside, ValueRange v) -> Value {
    return choose(inside, v[0], [&](double factor) { return number(inside, factor); });
  });
  // Chooses among products: a product with `factor` would wait for the comparison.
  Value shift = map(maximum, single, rows, [&](OpBuilder &inside, ValueRange v) -> Value {
    return choose(inside, v[0], [&](double factor) -> Value {
      return arith::MulFOp::create(inside, loc, v[0], number(inside, -factor));
    });
  });
  return {factor, shift};
}

Value AttentionEmitter::keptMaximum(Value before, Value largest) {
  // A program that asks for maxima gets those of all scores.
  Operation *yield = fusion.getBody().front().getTerminator();
  const bool isAsked = llvm::any_of(yield->getOperands(), [&](Value value) {
    return llvm::is_contained(op.getRowValues(), value);
  });
  if (!form.keepsMaximum || !mayApproximate || isAsked)
    return largest;
  // A weight is at most this power of 2, times the error of exponentOf(): 2^3 of f16, whose largest
  // exponent is 15.
  const double power = op.getWeightType().isF16() ? 4 : 8;
  return map({before, largest}, builder.getF32Type(), {tile[query]},
             [&](OpBuilder &inside, ValueRange v) -> Value {
               Value limit = arith::ConstantOp::create(
                   inside, loc, inside.getF32FloatAttr(float(power / (scale * log2E))));
               Value more = arith::SubFOp::create(inside, loc, v[1], v[0]);
               Value isNear =
                   arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OLE, more, limit);
               return arith::SelectOp::create(inside, loc, isNear, v[0], v[1]);
             });
}

Value AttentionEmitter::weightsOf(Value score, const Exponent &exponent) {
  const int64_t columns = typeOf(score).getDimSize(1);
  SmallVector<Value> tiles = {score, spread(exponent.shift, columns)};
  if (exponent.factor)
    tiles.push_back(spread(exponent.factor, columns));
  return map(
      tiles, builder.getF32Type(), typeOf(score).getShape(),
      [&](OpBuilder &inside, ValueRange v) -> Value {
        if (!exponent.factor)
          return math::ExpOp::create(inside, loc, arith::AddFOp::create(inside, loc, v[0], v[1]));
        Value power = math::FmaOp::create(inside, loc, v[0], v[2], v[1]);
        auto weight = math::Exp2Op::create(inside, loc, power, arith::FastMathFlags::afn);
        if (form.polynomial)
          weight->setAttr(elements::polynomialAttr, inside.getI64IntegerAttr(form.polynomial));
        return weight;
      });
}

Value AttentionEmitter::rescaling(Value before, const Exponent &exponent) {
  SmallVector<Value> tiles = {before, exponent.shift};
  if (exponent.factor)
    tiles.push_back(exponent.factor);
  return map(
      tiles, builder.getF32Type(), {tile[query]}, [&](OpBuilder &inside, ValueRange v) -> Value {
        if (!exponent.factor)
          return math::ExpOp::create(inside, loc, arith::AddFOp::create(inside, loc, v[0], v[1]));
        // The product is rounded as it was for the former shift: the power is the difference
        // of the shifts of the weights, and not of the maxima.
        Value product = arith::MulFOp::create(inside, loc, v[0], v[2]);
        Value power = arith::AddFOp::create(inside, loc, product, v[1]);
        return math::Exp2Op::create(inside, loc, power, arith::FastMathFlags::afn);
      });
}

SmallVector<Value> AttentionEmitter::iteration(Value block, ValueRange carried) {
  const Type single = builder.getF32Type();
  const SmallVector<int64_t> rows = {tile[query]};
  at[key] = times(block, tile[key]);
  auto larger = [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::MaximumFOp::create(inside, loc, v[0], v[1]);
  };
  Value score = scores(products());
  Value maximum = keptMaximum(
      carried[1], map({carried[1], reduce(score, {1}, -infinity, larger)}, single, rows, larger));
  const Exponent exponent = exponentOf(maximum);
  Value weights = weightsOf(score, exponent);
  Value factor = rescaling(carried[1], exponent);
  auto rescale = [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::MulFOp::create(inside, loc, v[0], v[1]);
  };
  Value added = sumOfWeights(weights);
  const bool isOfRows = typeOf(added).getRank() == 1;
  Value total =
      map({carried[2], isOfRows ? factor : spread(factor, typeOf(added).getDimSize(1)), added},
          single, typeOf(added).getShape(), [&](OpBuilder &inside, ValueRange v) -> Value {
            return arith::AddFOp::create(inside, loc, rescale(inside, v), v[2]);
          });
  Value sums =
      map({carried[0], spread(factor, tile[width])}, single, {tile[query], tile[width]}, rescale);
  if (form.keepsMaximum && !form.isInTensorMemory)
    sums.getDefiningOp()->setAttr(elements::rarelyScalesAttr, builder.getUnitAttr());
  const Type weight = op.getWeightType();
  sums = multiply(rounded(multiplied(weights), single, weight), weight,
                  keysOrValues(2, {key, width}, loadedValues), elementOf(2), sums);
  return {sums, maximum, total};
}

/// The weights times their factors in the second product.
Value AttentionEmitter::multiplied(Value weights) {
  Value factor = cast<exec::YieldScoreOp>(op.getBody().front().getTerminator()).getFactor();
  if (!factor)
    return weights;
  const auto inputs = inputsOf(factor, /*products=*/{});
  SmallVector<Value> tiles = llvm::to_vector(llvm::make_second_range(inputs));
  tiles.push_back(weights);
  return map(tiles, builder.getF32Type(), {tile[query], tile[key]},
             [&](OpBuilder &inside, ValueRange v) -> Value {
               IRMapping mapping;
               for (auto [input, argument] : llvm::zip(inputs, v))
                 mapping.map(input.first, argument);
               return arith::MulFOp::create(inside, loc, v.back(),
                                            cloneValue(inside, factor, mapping));
             });
}

/// Visits all blocks of keys, or those that the mask shows and, if they decide nothing, the others.
SmallVector<Value> AttentionEmitter::visitKeys(ValueRange inits) {
  std::optional<KeyRange> range;
  const QueryRange queries = {at[query], join<arith::AddIOp>(at[query], index(tile[query] - 1))};
  const UniformInput known = [&](unsigned input) { return uniform(input); };
  auto yield = cast<exec::YieldScoreOp>(op.getBody().front().getTerminator());
  const Mask mask{yield.getVisible(), /*query=*/1, sizes[key]};
  // All keys of a part may be invisible, even if they are a single block.
  if (mask.visible && (blocks(key) > 1 || isInPart(op.getBody().getArgument(2))))
    range = visibleKeys(builder, mask, queries, known);
  if (visible && form.warpgroups)
    fullyVisible = fullyVisibleKeys(builder, mask, queries, known);
  if (range)
    return visitMasked(*range, inits);
  return visitBlocks(index(blocks(key)), inits, [](Value number) { return number; });
}

Value AttentionEmitter::loadAhead(unsigned operand, ArrayRef<size_t> ofTile) {
  // Behind the last block, the last one that exists is loaded again.
  Type word = builder.getI32Type(); // one scalar instruction
  Value number = arith::IndexCastOp::create(builder, loc, word, nextBlock);
  Value last = arith::ConstantIntOp::create(builder, loc, blocks(key) - 1, 32);
  Value block = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           join<arith::MinSIOp>(number, last));
  Value current = std::exchange(at[key], times(block, tile[key]));
  Value loaded = loadPart(operand, ofTile);
  at[key] = current;
  return loaded;
}

Value AttentionEmitter::keysOrValues(unsigned operand, ArrayRef<size_t> ofTile, Value &loaded) {
  Value current = operandTile(operand, ofTile, loaded);
  if (loaded)
    loaded = loadAhead(operand, ofTile);
  return current;
}

SmallVector<Value> AttentionEmitter::visitBlocks(Value count, ValueRange inits,
                                                 llvm::function_ref<Value(Value)> blockOf) {
  if (!form.loadsAhead || !heldQueries)
    return loop(count, inits, [&](Value number, ValueRange carried) {
      return iteration(blockOf(number), carried);
    });
  auto loadBlock = [&](Value number) {
    nextBlock = number;
    return SmallVector<Value>{loadAhead(1, {depth, key}), loadAhead(2, {key, width})};
  };
  SmallVector<Value> begin(inits);
  begin.append(loadBlock(blockOf(index(0))));
  SmallVector<Value> done = loop(count, begin, [&](Value number, ValueRange carried) {
    nextBlock = blockOf(join<arith::AddIOp>(number, index(1)));
    loadedKeys = carried[inits.size()];
    loadedValues = carried[inits.size() + 1];
    SmallVector<Value> next = iteration(blockOf(number), carried.take_front(inits.size()));
    next.append({loadedKeys, loadedValues});
    loadedKeys = loadedValues = nextBlock = {};
    return next;
  });
  done.truncate(inits.size());
  return done;
}

/// Visits the blocks that the mask shows. Then, unless each row has a score beside which the weight
/// of a masked one is 0, the others: a row that is masked entirely is the mean of all values.
SmallVector<Value> AttentionEmitter::visitMasked(const KeyRange &visible, ValueRange inits) {
  Value zero = index(0), all = index(blocks(key));
  // The first block, and the one behind the last, among those that exist.
  auto blockOf = [&](Value bound, int64_t plusKeys) {
    Value inside = join<arith::MinSIOp>(join<arith::MaxSIOp>(bound, zero), index(sizes[key]));
    return affine::AffineApplyOp::create(builder, loc, (dim(0) + plusKeys).floorDiv(tile[key]),
                                         ValueRange(inside));
  };
  Value first = blockOf(visible.first, 0), end = blockOf(visible.end, tile[key] - 1);
  Value shown = join<arith::MaxSIOp>(join<arith::SubIOp>(end, first), zero);
  // A phase visits `count` blocks: those before `border`, and then those that are `gap` further.
  SmallVector<Value> begin(inits);
  begin.append({shown, zero, first});
  SmallVector<Value> done = loop(index(2), begin, [&](Value, ValueRange phase) {
    const ValueRange state = phase.drop_back(3);
    Value count = phase[state.size()], border = phase[state.size() + 1],
          gap = phase[state.size() + 2];
    SmallVector<Value> next = visitBlocks(count, state, [&](Value number) {
      Value isBefore = compare(arith::CmpIPredicate::slt, number, border);
      return join<arith::AddIOp>(number, choose(isBefore, zero, gap));
    });
    Value lowest = reduce(next[1], {0}, infinity, [&](OpBuilder &inside, ValueRange v) -> Value {
      return arith::MinimumFOp::create(inside, loc, v[0], v[1]);
    });
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(float(value)));
    };
    // Compares the difference: the sum of both constants may be rounded to the masked score. A
    // score of -inf has no weight anyway.
    Value above = tensor::ExtractOp::create(builder, loc, lowest, ValueRange());
    const bool isFinite = std::isfinite(maskedScore);
    if (isFinite)
      above = arith::SubFOp::create(builder, loc, above, number(maskedScore));
    Value isDecided = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, above,
                                            number(isFinite ? decisive / scale : -infinity));
    next.append({choose(isDecided, zero, join<arith::SubIOp>(all, shown)), first, shown});
    return next;
  });
  done.pop_back_n(3);
  return done;
}

Value AttentionEmitter::epilogueTile(Value value, const Dims &dims) {
  Value &known = epilogue[{value, dims}];
  if (known)
    return known;
  const SmallVector<int64_t> shape = {tile[query], tile[width]};
  const Type type = typeOf(value).getElementType(), element = elements::scalarType(type);
  Operation *source = value.getDefiningOp();
  if (!source) {
    const Part part = partOf(dims, {query, width});
    Value from = inputs[cast<BlockArgument>(value).getArgNumber()];
    return known = view(load(from, part.offsets, part.shape), part.exprs, shape);
  }
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(source))
    return known = map({}, element, shape, [&](OpBuilder &inside, ValueRange) {
             return elements::emitConstant(inside, loc, cast<ElementsAttr>(constant.getValue()));
           });
  if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(source)) {
    Dims inner;
    for (auto [size, to] :
         llvm::zip_equal(typeOf(spread.getOperand()).getShape(), spread.getBroadcastDimensions()))
      inner.push_back(size == 1 ? -1 : dims[static_cast<size_t>(to)]);
    return known = epilogueTile(spread.getOperand(), inner);
  }
  if (auto iota = dyn_cast<stablehlo::IotaOp>(source)) {
    const int64_t number = dims[static_cast<size_t>(iota.getIotaDimension())];
    const bool isRow = number == int64_t(query), isColumn = number == int64_t(width);
    Value first = number < 0 ? index(0) : at[static_cast<size_t>(number)];
    Type integer = builder.getI32Type();
    Value count = IotaOp::create(builder, loc, RankedTensorType::get(shape, integer), first,
                                 isColumn ? 1 : 0, isRow || isColumn ? 1 : 0);
    return known = rounded(count, integer, type);
  }
  SmallVector<Value> tiles;
  for (Value operand : source->getOperands())
    tiles.push_back(epilogueTile(operand, dims));
  return known = map(tiles, element, shape, [&](OpBuilder &inside, ValueRange operands) {
           return elements::emitElement(inside, source, operands);
         });
}

Value AttentionEmitter::maximumOf(Value unscaledMaximum, Value sums) {
  const bool isLowered =
      op.getMaskedScoreAttr() && op.getMaskedScoreAttr().getValue().convertToFloat() != maskedScore;
  if (!mayApproximate)
    return unscaledMaximum;
  return map({unscaledMaximum, sums}, builder.getF32Type(), {tile[query]},
             [&](OpBuilder &inside, ValueRange v) -> Value {
               auto number = [&](float value) -> Value {
                 return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(value));
               };
               auto choose = [&](Value a, float equal, float chosen, Value otherwise) -> Value {
                 Value isEqual = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OEQ, a,
                                                       number(equal));
                 return arith::SelectOp::create(inside, loc, isEqual, number(chosen), otherwise);
               };
               IRMapping mapping;
               mapping.map(unscaled, v[0]);
               Value score = scaling ? cloneValue(inside, scaling->getResult(0), mapping) : v[0];
               // The masked score times the factor may be another number, or not finite.
               if (visible && isLowered)
                 score = choose(v[0], maskedScore,
                                op.getMaskedScoreAttr().getValue().convertToFloat(), score);
               // Without a weight, all scores are -inf.
               return choose(v[1], 0, -infinity, score);
             });
}

Value AttentionEmitter::exactSums(Value sums, Value maximum) {
  if (!mayApproximate)
    return sums;
  const Exponent exponent = exponentOf(maximum);
  return map({sums, maximum, exponent.shift, exponent.factor}, builder.getF32Type(), {tile[query]},
             [&](OpBuilder &inside, ValueRange v) -> Value {
               // 2^(maximum * factor + shift) is the weight of the maximum.
               Value power = math::FmaOp::create(inside, loc, v[1], v[3], v[2]);
               Value rest = arith::NegFOp::create(inside, loc, power);
               return arith::MulFOp::create(
                   inside, loc, v[0],
                   math::Exp2Op::create(inside, loc, rest, arith::FastMathFlags::afn));
             });
}

void AttentionEmitter::storeRows(Value rows, Value target) {
  const SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(key)));
  if (blocks(width) == 1)
    return storeTile(rows, target, dims, {query});
  // Points with other columns have the same rows: only one of them may store these.
  Value isFirst = compare(arith::CmpIPredicate::eq, at[width], index(0));
  storeIf(isFirst, rows, target, dims, query);
}

KernelOp AttentionEmitter::emit(StringRef name) {
  SmallVector<size_t> gridDims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i != key && i != depth && (blocks(i) > 1 || i == query))
      gridDims.push_back(i);
  OpBuilder::InsertionGuard guard(builder);
  KernelOp kernel = openGrid(name, gridDims,
                             form.warpgroups ? 4 * form.warpgroups : tile[query] / form.rowsOfWarp);

  if (blocks(depth) == 1)
    heldQueries = operandTile(0, {query, depth});
  Value noWeights = form.adjacent ? splat(0, {tile[query], 4}) : splat(0, tile[query]);
  SmallVector<Value> sums = visitKeys(
      {splat(0, {tile[query], tile[width]}), splat(leastMaximum(), tile[query]), noWeights});
  if (form.adjacent)
    sums[2] = reduce(sums[2], {1}, 0, [&](OpBuilder &inside, ValueRange v) -> Value {
      return arith::AddFOp::create(inside, loc, v[0], v[1]);
    });
  const Type element = typeOf(op.getResult()).getElementType();
  Value quotient =
      map({sums[0], spread(sums[2], tile[width])}, element, {tile[query], tile[width]},
          [&](OpBuilder &inside, ValueRange v) {
            Value divided = arith::DivFOp::create(inside, loc, v[0], v[1]);
            return elements::emitConversion(inside, loc, inside.getF32Type(), element, divided);
          });
  const Dims dims(dimsOf(static_cast<unsigned>(op.getOperands().size())));
  epilogue[{op.getResult(), dims}] = quotient;
  Operation *yield = fusion.getBody().front().getTerminator();
  for (auto [value, target] : llvm::zip_equal(yield->getOperands(), kernel.getOutputs())) {
    ResultRange rows = op.getRowValues();
    if (!llvm::is_contained(rows, value))
      storeTile(epilogueTile(value, dims), target, dims, {query, width});
    else
      storeRows(value == rows[0] ? maximumOf(sums[1], sums[2]) : exactSums(sums[2], sums[1]),
                target);
  }
  return kernel;
}

} // namespace

KernelOp emitAttentionKernel(OpBuilder &builder, exec::FusionOp fusion, StringRef name,
                             const Capacities &capacities) {
  exec::SoftmaxDotOp op = attentionOf(fusion);
  KernelOp best;
  Form chosen;
  double leastCycles = 0;
  auto consider = [&](const Form &form) {
    AttentionEmitter emitter(builder, fusion, op, capacities, form);
    KernelOp kernel = emitter.emit(name);
    std::string reason;
    std::optional<pipeline::PlannedLoop> planned =
        pipeline::planProductLoop(kernel, *capacities.machine, reason);
    if (!planned) {
      TILEWRIGHT_LOG(DEBUG_TYPE, fusion, form.rows * form.warpgroups, " x ", form.keys,
                     " is not feasible: ", reason);
      return kernel.erase();
    }
    const double waves = std::ceil(emitter.points() / double(capacities.machine->processors));
    const double cycles =
        waves * (double(planned->plan.fill) +
                 double(planned->plan.interval) * std::max(0.0, emitter.blocksOfKeys() - 1));
    TILEWRIGHT_LOG(DEBUG_TYPE, fusion, form.rows * form.warpgroups, " x ", form.keys,
                   form.polynomial ? ", a polynomial for 1 weight of " : "",
                   form.polynomial ? std::to_string(form.polynomial) : "", " would take ",
                   int64_t(cycles), " cycles, ", planned->plan.interval,
                   " for each block of keys: ", llvm::join(planned->plan.plan.reasons, "; "));
    const bool isBetter = !best || cycles < leastCycles;
    if (isBetter) {
      leastCycles = cycles;
      chosen = form;
    }
    if (KernelOp other = isBetter ? std::exchange(best, kernel) : kernel)
      other.erase();
  };
  for (const Form &form : formsOfWarpgroups(op, capacities))
    consider(form);
  if (!best)
    return AttentionEmitter(builder, fusion, op, capacities, formOfWarps(op, capacities))
        .emit(name);
  // If weights keep the special-function units busy for longer than products the tensor core, the
  // other units can compute some of them.
  if (chosen.isInTensorMemory)
    for (const int64_t polynomial : {10, 8, 6, 5, 4}) {
      Form form = chosen;
      form.polynomial = polynomial;
      consider(form);
    }
  return best;
}

} // namespace tilewright::tile
