#include "tilewright/transform/fuse/cascade/Online.h"

#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/SortBlock.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/EraseDead.h"
#include "tilewright/transform/fuse/cascade/Emitter.h"

#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using tilewright::stablehlo::ShapedBuilder;

namespace tilewright::cascade {

Online::Online(OpBuilder &builder, Location loc, const Cascade &cascade, unsigned pass,
               Values known)
    : builder(builder), loc(loc), cascade(cascade), pass(pass), known(std::move(known)) {
  this->known.resize(cascade.reductions.size());
}

/// A copy of the reduction with different inputs.
static ValueRange reduceLike(OpBuilder &builder, Location loc, stablehlo::ReduceOp like,
                             ValueRange inputs, ArrayRef<int64_t> dims, TypeRange types) {
  auto reduce =
      stablehlo::ReduceOp::create(builder, loc, types, inputs, like.getInitValues(), dims);
  IRMapping mapping;
  like.getBody().cloneInto(&reduce.getBody(), mapping);
  return reduce.getResults();
}

/// The sizes of a tensor's dimensions, except those of size 1.
static SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> result;
  for (int64_t size : sizes)
    if (size != 1)
      result.push_back(size);
  return result;
}

/// Transposes and reshapes a tensor whose dimensions are `from` of a space, so that they are `to`
/// and the result has the given shape.
static Value arranged(ShapedBuilder &b, Value value, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> order, dims;
  for (auto [dim, size] : llvm::zip(from, typeOf(value).getShape()))
    if (size != 1)
      order.push_back(dim);
  SmallVector<int64_t> places;
  for (auto [dim, size] : llvm::zip(to, shape))
    if (size != 1)
      places.push_back(dim);
  for (int64_t dim : order)
    dims.push_back(llvm::find(places, dim) - places.begin());
  Value dense = b.reshape(value, withoutOnes(typeOf(value).getShape()));
  return b.reshape(b.broadcast(dense, withoutOnes(shape), dims), shape);
}

/// All dimensions of a space.
static SmallVector<int64_t> allDims(const Space &space) {
  SmallVector<int64_t> dims(space.shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

/// The view of a reduction's result.
static SmallVector<int64_t> viewOfResult(const Reduction &reduction) {
  auto reduce = cast<stablehlo::ReduceOp>(reduction.op);
  SmallVector<int64_t> dims;
  for (auto [dim, place] : llvm::enumerate(reduction.view))
    if (!llvm::is_contained(reduce.getDimensions(), static_cast<int64_t>(dim)))
      dims.push_back(place);
  return dims;
}

/// The types of a reduction's results, for the rows of the space.
static SmallVector<Type> rowTypes(const Reduction &reduction, const Space &space) {
  SmallVector<int64_t> shape;
  for (int64_t dim : space.rowDims())
    shape.push_back(space.shape[static_cast<size_t>(dim)]);
  SmallVector<Type> types;
  for (Type type : reduction.op->getResultTypes())
    types.push_back(RankedTensorType::get(shape, cast<RankedTensorType>(type).getElementType()));
  return types;
}

/// For each row, whether any of its elements is true.
static Value anyOf(ShapedBuilder &b, Value mask, const Space &space) {
  auto type = RankedTensorType::get({}, b.builder.getI1Type());
  Value no = b.constant(DenseElementsAttr::get(type, false));
  SmallVector<int64_t> shape;
  for (int64_t dim : space.rowDims())
    shape.push_back(space.shape[static_cast<size_t>(dim)]);
  auto reduce = stablehlo::ReduceOp::create(b.builder, b.location, TypeRange(type.clone(shape)),
                                            mask, no, space.axes);
  OpBuilder::InsertionGuard guard(b.builder);
  Block *body =
      b.builder.createBlock(&reduce.getBody(), {}, {type, type}, {b.location, b.location});
  Value either = b.binary<stablehlo::OrOp>(body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(b.builder, b.location, either);
  return reduce.getResult(0);
}

std::vector<Value> Online::partsOf(unsigned index, const Slice &slice, const Values &parameters) {
  const Reduction &reduction = cascade.reductions[index];
  Emitter emitter(builder, loc, cascade, pass, parameters, Emitter::Stage::partial, slice);
  auto reduce = dyn_cast<stablehlo::ReduceOp>(reduction.op);
  if (reduce && reduction.maps.size() > 1) {
    SmallVector<Value> inputs;
    for (const Node *map : reduction.maps)
      inputs.push_back(emitter.atElements(emitter.emit(*map)));
    ValueRange results = reduceLike(builder, loc, reduce, inputs, cascade.space().axes,
                                    rowTypes(reduction, cascade.space()));
    return {results.begin(), results.end()};
  }
  std::vector<Value> parts;
  for (const std::vector<int> &order : reduction.form.derivatives) {
    const bool isMap = llvm::all_of(order, [](int times) { return times == 0; });
    Value mapped = isMap
                       ? emitter.emitMap(reduction.form, *reduction.maps[0])
                       : emitter.emitDerivative(reduction.form, order, reduction.maps[0]->element);
    if (reduce) {
      parts.push_back(reduceLike(builder, loc, reduce, mapped, cascade.space().axes,
                                 rowTypes(reduction, cascade.space()))[0]);
      continue;
    }
    stablehlo::DotDimensionNumbersAttr numbers =
        cast<stablehlo::DotGeneralOp>(reduction.op).getDotDimensionNumbers();
    const unsigned side = reduction.mappedOperand;
    Value other = emitter.sliceOf(reduction.op->getOperand(1 - side),
                                  side == 0 ? numbers.getRhsContractingDimensions()[0]
                                            : numbers.getLhsContractingDimensions()[0]);
    ShapedBuilder b(builder, loc);
    SmallVector<int64_t> shape(typeOf(reduction.op->getOperand(side)).getShape());
    shape[static_cast<size_t>(side == 0 ? numbers.getLhsContractingDimensions()[0]
                                        : numbers.getRhsContractingDimensions()[0])] = slice.size;
    Operation *copy = builder.clone(*reduction.op);
    copy->setLoc(loc);
    builder.setInsertionPoint(copy);
    copy->setOperand(side, arranged(b, mapped, allDims(cascade.space()), reduction.view, shape));
    builder.setInsertionPointAfter(copy);
    copy->setOperand(1 - side, other);
    parts.push_back(copy->getResult(0));
  }
  if (!reduction.form.hidden.empty()) {
    ShapedBuilder b(builder, loc);
    parts.push_back(anyOf(b, emitter.emitReaders(reduction.form), cascade.space()));
  }
  return parts;
}

Value Online::spread(unsigned index, Value row, Type like) {
  ShapedBuilder b(builder, loc);
  auto type = cast<RankedTensorType>(like);
  row = b.convert(row, type.getElementType());
  const Reduction &reduction = cascade.reductions[index];
  if (typeOf(row).getRank() == 0 && type.getRank() > 0)
    return b.broadcast(row, type.getShape());
  if (!reduction.isMatmul())
    return row;
  stablehlo::DotDimensionNumbersAttr numbers =
      cast<stablehlo::DotGeneralOp>(reduction.op).getDotDimensionNumbers();
  const bool isLhs = reduction.mappedOperand == 0;
  ArrayRef<int64_t> batching =
      isLhs ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions();
  ArrayRef<int64_t> contracting =
      isLhs ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions();
  const auto free = static_cast<int64_t>(reduction.view.size() - batching.size()) - 1;
  // The result has the batching dimensions, then those of lhs, then those of rhs.
  int64_t next = isLhs ? static_cast<int64_t>(batching.size()) : type.getRank() - free;
  std::map<int64_t, int64_t> places; // in the result, of dimensions of the space
  for (auto [dim, place] : llvm::enumerate(reduction.view)) {
    const auto *found = llvm::find(batching, static_cast<int64_t>(dim));
    if (found != batching.end())
      places[place] = found - batching.begin();
    else if (!llvm::is_contained(contracting, static_cast<int64_t>(dim)))
      places[place] = next++;
  }
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::zip(cascade.space().rowDims(), typeOf(row).getShape()))
    if (size != 1)
      dims.push_back(places[dim]);
  return b.broadcast(b.reshape(row, withoutOnes(typeOf(row).getShape())), type.getShape(), dims);
}

Value Online::ifRead(unsigned index, unsigned parameter, const std::vector<Value> &parts,
                     Value value, double otherwise) {
  if (!cascade.reductions[index].form.hidden.contains(parameter))
    return value;
  ShapedBuilder b(builder, loc);
  Value isRead = spread(index, parts.back(), typeOf(parts[0]).clone(builder.getI1Type()));
  auto type = typeOf(value);
  Value number = b.constant(
      DenseElementsAttr::get(type.clone(ArrayRef<int64_t>()),
                             Attribute(builder.getFloatAttr(type.getElementType(), otherwise))));
  return b.select(isRead, value, b.broadcast(number, type.getShape()));
}

/// The number of ways to choose `k` of `n`.
static double choose(int n, int k) {
  double ways = 1;
  for (int i = 0; i < k; ++i)
    ways = ways * (n - i) / (i + 1);
  return ways;
}

std::vector<Value> Online::move(unsigned index, const std::vector<Value> &parts, const Values &from,
                                const Values &to, bool isLast) {
  const Reduction &reduction = cascade.reductions[index];
  const Form &form = reduction.form;
  if (form.exponent.empty() && form.variables.empty())
    return parts;
  ShapedBuilder b(builder, loc);
  Emitter before(builder, loc, cascade, pass, from, Emitter::Stage::partial);
  Emitter after(builder, loc, cascade, pass, to,
                isLast ? Emitter::Stage::final : Emitter::Stage::partial);
  const Type element = typeOf(parts[0]).getElementType();
  SmallVector<Value> shifts;
  for (unsigned variable : form.variables) {
    const Node &node = *cascade.nodes.node(variable);
    Value shift = b.subtract(after.emitVariable(form, node), before.emitVariable(form, node));
    shifts.push_back(ifRead(index, variable, parts, spread(index, shift, parts[0].getType()), 0));
  }
  std::vector<Value> moved;
  for (const std::vector<int> &order : form.derivatives) {
    Value sum;
    for (auto [higher, part] : llvm::zip(form.derivatives, parts)) {
      double scale = 1;
      Value term = part;
      for (size_t i = 0; i < order.size(); ++i) {
        if (higher[i] < order[i]) {
          scale = 0;
          break;
        }
        scale *= choose(higher[i], order[i]);
        for (int times = order[i]; times < higher[i]; ++times)
          term = b.multiply(term, shifts[i]);
      }
      if (scale == 0)
        continue;
      if (scale != 1)
        term = b.multiply(term, b.broadcast(after.number(scale, element), typeOf(term).getShape()));
      sum = sum ? b.add(sum, term) : term;
    }
    moved.push_back(sum);
  }
  if (!form.exponent.empty()) {
    const Type type = reduction.maps[0]->element;
    Value difference =
        b.subtract(after.emitLinear(form.exponent, type), before.emitLinear(form.exponent, type));
    Value factor = stablehlo::ExponentialOp::create(builder, loc, difference.getType(), difference);
    if (!isLast) {
      // If the maximum is not finite, all exponentials so far are 0 and remain so; a large factor
      // would turn them into NaN.
      const Node &bound = *cascade.nodes.node(form.exponent.begin()->first[0].first);
      Value known = before.emit(bound);
      Value isFinite = stablehlo::IsFiniteOp::create(
          builder, loc, RankedTensorType::get(typeOf(known).getShape(), builder.getI1Type()),
          known);
      factor =
          b.select(isFinite, factor, b.broadcast(after.number(1, type), typeOf(factor).getShape()));
    }
    // The exponent is a single parameter (Decide).
    factor = ifRead(index, form.exponent.begin()->first[0].first, parts,
                    spread(index, factor, parts[0].getType()), 1);
    for (Value &part : moved)
      part = b.multiply(part, factor);
  }
  if (!form.hidden.empty())
    moved.push_back(parts.back());
  return moved;
}

std::vector<Value> Online::combine(unsigned index, const std::vector<Value> &a,
                                   const std::vector<Value> &c) {
  const Reduction &reduction = cascade.reductions[index];
  ShapedBuilder b(builder, loc);
  if (reduction.combiner == Combiner::other) {
    // For any combiner: both results become one row of two elements.
    SmallVector<Value> pairs;
    for (auto [left, right] : llvm::zip(a, c)) {
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, typeOf(left).getShape());
      pairs.push_back(b.concatenate({b.reshape(left, shape), b.reshape(right, shape)}, 0));
    }
    ValueRange results = reduceLike(builder, loc, cast<stablehlo::ReduceOp>(reduction.op), pairs,
                                    {0}, rowTypes(reduction, cascade.space()));
    return {results.begin(), results.end()};
  }
  std::vector<Value> results;
  for (auto [left, right] : llvm::zip(a, c)) {
    // Whether any element reads the hidden parameters.
    if (!reduction.form.hidden.empty() && left == a.back()) {
      results.push_back(b.binary<stablehlo::OrOp>(left, right));
      break;
    }
    switch (reduction.combiner) {
    case Combiner::product:
      results.push_back(b.multiply(left, right));
      break;
    case Combiner::maximum:
      results.push_back(b.binary<stablehlo::MaximumOp>(left, right));
      break;
    case Combiner::minimum:
      results.push_back(b.binary<stablehlo::MinimumOp>(left, right));
      break;
    case Combiner::sum:
    case Combiner::other:
      results.push_back(b.add(left, right));
    }
  }
  return results;
}

SmallVector<Value, 1> Online::complete(unsigned index, const std::vector<Value> &parts,
                                       const Values &parameters) {
  const Reduction &reduction = cascade.reductions[index];
  if (reduction.maps.size() > 1)
    return {parts.begin(), parts.end()};
  ShapedBuilder b(builder, loc);
  Emitter emitter(builder, loc, cascade, pass, parameters, Emitter::Stage::final);
  Value result = parts[0];
  for (auto [id, power] : reduction.form.factor) {
    Value factor =
        ifRead(index, id, parts,
               spread(index, emitter.emit(*cascade.nodes.node(id)), result.getType()), 1);
    for (int i = 0; i < std::abs(power); ++i)
      result =
          power > 0 ? b.multiply(result, factor) : b.binary<stablehlo::DivideOp>(result, factor);
  }
  if (Value offset = emitter.emitLinear(reduction.form.offset, typeOf(result).getElementType()))
    result = b.add(result, spread(index, offset, result.getType()));
  return {result};
}

/// Whether partial results of another reduction of the pass are relative to those of this one.
static bool isParameter(const Cascade &cascade, unsigned pass, unsigned index) {
  auto reads = [&](unsigned id) {
    return llvm::is_contained(cascade.nodes.node(id)->reads, index);
  };
  auto readsAny = [&](const Linear &sum) {
    return llvm::any_of(sum, [&](const auto &term) {
      return llvm::any_of(term.first, [&](const auto &factor) { return reads(factor.first); });
    });
  };
  for (unsigned later = index + 1; later < cascade.reductions.size(); ++later) {
    const Form &form = cascade.reductions[later].form;
    if (cascade.reductions[later].pass != pass)
      continue;
    if (readsAny(form.exponent) || llvm::any_of(form.variables, reads))
      return true;
    // The factor and the offset matter only where a parameter is the complete value.
    if ((readsAny({{form.factor, 1}}) || readsAny(form.offset)) &&
        isParameter(cascade, pass, later))
      return true;
  }
  return false;
}

void Online::setParameter(unsigned index, const std::vector<Value> &parts, int64_t count,
                          Values &parameters) {
  const Reduction &reduction = cascade.reductions[index];
  if (reduction.isMatmul() || !isParameter(cascade, pass, index))
    return;
  ShapedBuilder b(builder, loc);
  Emitter emitter(builder, loc, cascade, pass, parameters, Emitter::Stage::final);
  parameters[index] = complete(index, parts, parameters);
  const int64_t all = cascade.space().shape[static_cast<size_t>(cascade.space().axes[0])];
  // Estimate the sum of all elements from those so far. A mean then is the mean of the elements so
  // far, and differences from it stay small. This affects only rounding.
  Value &value = parameters[index][0];
  const Type element = typeOf(value).getElementType();
  if (reduction.combiner == Combiner::sum && count != all && isa<FloatType>(element))
    value = b.multiply(
        value,
        b.broadcast(emitter.number(static_cast<double>(all) / static_cast<double>(count), element),
                    typeOf(value).getShape()));
}

/// The numbers of the reductions of a pass.
static std::vector<unsigned> membersOf(const Cascade &cascade, unsigned pass) {
  std::vector<unsigned> members;
  for (auto [index, reduction] : llvm::enumerate(cascade.reductions))
    if (reduction.pass == pass)
      members.push_back(static_cast<unsigned>(index));
  return members;
}

Partial Online::update(const Partial &partial, const Slice &slice) {
  Partial result;
  result.count = partial.count + slice.size;
  Values before = known, after = known;
  for (auto [i, index] : llvm::enumerate(membersOf(cascade, pass))) {
    std::vector<Value> parts = partsOf(index, slice, after);
    if (!partial.parts.empty()) {
      parts = combine(index, move(index, partial.parts[i], before, after), parts);
      setParameter(index, partial.parts[i], partial.count, before);
    }
    setParameter(index, parts, result.count, after);
    result.parts.push_back(std::move(parts));
  }
  return result;
}

Partial Online::merge(const Partial &a, const Partial &b) {
  Partial result;
  result.count = a.count + b.count;
  Values ofA = known, ofB = known, after = known;
  for (auto [i, index] : llvm::enumerate(membersOf(cascade, pass))) {
    std::vector<Value> parts =
        combine(index, move(index, a.parts[i], ofA, after), move(index, b.parts[i], ofB, after));
    setParameter(index, a.parts[i], a.count, ofA);
    setParameter(index, b.parts[i], b.count, ofB);
    setParameter(index, parts, result.count, after);
    result.parts.push_back(std::move(parts));
  }
  return result;
}

Values Online::finish(const Partial &partial) {
  Values relative = known, results = known;
  for (auto [i, index] : llvm::enumerate(membersOf(cascade, pass))) {
    results[index] =
        complete(index, move(index, partial.parts[i], relative, results, /*isLast=*/true), results);
    setParameter(index, partial.parts[i], partial.count, relative);
  }
  return results;
}

void computeInBlocks(const Cascade &cascade, int64_t blockSize, bool asTree) {
  Operation *last = cascade.reductions.back().op;
  OpBuilder builder(last);
  const int64_t all = cascade.space().shape[static_cast<size_t>(cascade.space().axes[0])];
  Values results(cascade.reductions.size());
  for (unsigned pass = 0; pass < cascade.passes; ++pass) {
    Online online(builder, last->getLoc(), cascade, pass, results);
    std::vector<Partial> partials;
    for (int64_t start = 0; start < all; start += blockSize) {
      const Slice slice{start, std::min(blockSize, all - start)};
      if (asTree || partials.empty())
        partials.push_back(online.reduce(slice));
      else
        partials.back() = online.update(partials.back(), slice);
    }
    while (partials.size() > 1) {
      std::vector<Partial> merged;
      for (size_t i = 0; i < partials.size(); i += 2)
        merged.push_back(i + 1 < partials.size() ? online.merge(partials[i], partials[i + 1])
                                                 : partials[i]);
      partials = std::move(merged);
    }
    results = online.finish(partials[0]);
  }
  Block *block = last->getBlock();
  SmallVector<Value> replaced;
  for (auto [reduction, values] : llvm::zip(cascade.reductions, results)) {
    ShapedBuilder b(builder, last->getLoc());
    if (!reduction.isMatmul())
      for (auto [value, result] : llvm::zip(values, reduction.op->getResults()))
        value = arranged(b, value, cascade.space().rowDims(), viewOfResult(reduction),
                         typeOf(result).getShape());
    reduction.op->replaceAllUsesWith(ValueRange(values));
    llvm::append_range(replaced, reduction.op->getResults());
  }
  transform::sortBlock(*block, fuse::hasEffects);
  fuse::eraseDead(replaced);
}

} // namespace tilewright::cascade
