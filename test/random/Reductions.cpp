// Rules: reductions, scans and sorts.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

using namespace mlir;

namespace tilewright::random {

std::pair<Dims, Dims> Generator::reducedDims(Value x) {
  Dims dims, shape;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    if (draw.oneIn(2) || (dims.empty() && i + 1 == typeOf(x).getRank()))
      dims.push_back(i);
    else
      shape.push_back(typeOf(x).getDimSize(i));
  return {dims, shape};
}

void Generator::reduce() {
  Value x = ranked();
  if (!x)
    return;
  const auto [dims, shape] = reducedDims(x);
  Type element = elementOf(x);
  const llvm::StringRef op = combiner(element);
  Value start = startOf(op, element);
  add("stablehlo.reduce", tensor(shape, element), {x, start}, list("dimensions", dims),
      {[&](Block &block) { body(block, element, op); }});
}

/// Composes maps x -> s x + t of integers, which is associative but not commutative. Each element
/// of one tensor is both s and t.
void Generator::orderedReduce() {
  Value x = pick([](Value v) { return typeOf(v).getRank() > 0 && isInt(elementOf(v)); });
  if (!x)
    return;
  const auto [dims, shape] = reducedDims(x);
  Type element = elementOf(x);
  auto scalar = tensor({}, element), result = tensor(shape, element);
  const interpret::ElementType type = *interpret::elementTypeOf(element);
  interpret::Context spending;
  Value one = constant(scalar, *interpret::Tensor::scalar(type,
                                                          numerics::isSigned(type)
                                                              ? numerics::Scalar::ofSigned(1)
                                                              : numerics::Scalar::ofUnsigned(1),
                                                          spending));
  Value zero = constant(scalar, Numbers::nothing);
  auto write = [&](Block &block) {
    Value s = block.addArgument(scalar, loc), t = block.addArgument(scalar, loc),
          c = block.addArgument(scalar, loc), d = block.addArgument(scalar, loc);
    auto apply = [&](llvm::StringRef op, Value a, Value b) {
      return create(op, scalar, {a, b})->getResult(0);
    };
    returns(block, {apply("stablehlo.multiply", s, c),
                    apply("stablehlo.add", apply("stablehlo.multiply", s, d), t)});
  };
  Operation *made = create("stablehlo.reduce", {result, result}, {x, x, one, zero},
                           list("dimensions", dims), {write});
  for (Value value : made->getResults())
    keep(value);
}

Value Generator::compareScalars(Value x, Value y, llvm::StringRef direction, bool total) {
  llvm::SmallVector<NamedAttribute> attributes = {comparison(direction)};
  if (total && isFloat(elementOf(x)))
    attributes.push_back(attribute(
        "compare_type",
        stablehlo::ComparisonTypeAttr::get(&context, stablehlo::ComparisonType::TOTALORDER)));
  return create("stablehlo.compare", tensor({}, builder.getI1Type()), {x, y}, attributes)
      ->getResult(0);
}

/// argmax and argmin: the greatest element, the first among equals, NaN before all numbers. Written
/// as JAX does, or so that the order of operands does not matter.
void Generator::argReduce() {
  Value x = pick([](Value v) {
    return typeOf(v).getRank() > 0 && !isComplex(elementOf(v)) && !isPred(elementOf(v));
  });
  if (!x)
    return;
  const int64_t dim = draw.oneIn(2) ? typeOf(x).getRank() - 1 : draw.below(typeOf(x).getRank());
  Type element = elementOf(x), index = named(draw.oneOf<const char *>({"i32", "i64"}));
  auto scalar = tensor({}, element), place = tensor({}, index);
  Value places =
      create("stablehlo.iota", tensor(dimsOf(x), index), {}, number("iota_dimension", dim))
          ->getResult(0);
  Dims shape = dimsOf(x);
  shape.erase(shape.begin() + dim);
  const bool greatest = draw.oneIn(2), asJax = draw.oneIn(2);
  const interpret::ElementType type = *interpret::elementTypeOf(element);
  interpret::Context spending;
  Value start = constant(
      scalar, *interpret::Tensor::scalar(
                  type, greatest ? numerics::lowestOf(type) : numerics::highestOf(type), spending));
  Value first = constant(place, Numbers::nothing);
  auto write = [&](Block &block) {
    Value a = block.addArgument(scalar, loc), i = block.addArgument(place, loc),
          b = block.addArgument(scalar, loc), k = block.addArgument(place, loc);
    auto truth = tensor({}, builder.getI1Type());
    auto apply = [&](llvm::StringRef op, Type result, ValueRange operands) {
      return create(op, result, operands)->getResult(0);
    };
    Value wins = compareScalars(a, b, greatest ? "GT" : "LT", false);
    Value ties = compareScalars(a, b, "EQ", false);
    if (isFloat(element)) {
      Value nanA = compareScalars(a, a, "NE", false);
      if (!asJax) {
        Value nanB = compareScalars(b, b, "NE", false);
        ties = apply("stablehlo.or", truth, {ties, apply("stablehlo.and", truth, {nanA, nanB})});
        nanA = apply("stablehlo.and", truth, {nanA, apply("stablehlo.not", truth, nanB)});
      }
      wins = apply("stablehlo.or", truth, {wins, nanA});
    }
    Value earlier = compareScalars(i, k, "LT", false);
    Value keeps =
        apply("stablehlo.or", truth, {wins, apply("stablehlo.and", truth, {ties, earlier})});
    returns(block, {apply("stablehlo.select", scalar, {asJax ? wins : keeps, a, b}),
                    apply("stablehlo.select", place, {keeps, i, k})});
  };
  Operation *made = create("stablehlo.reduce", {tensor(shape, element), tensor(shape, index)},
                           {x, places, start, first}, list("dimensions", {dim}), {write});
  keep(made->getResult(1));
  // In JAX's form it is undefined which of two equal zeros is the value, but not its index.
  if (!asJax || !isFloat(element))
    keep(made->getResult(0));
}

void Generator::reduceWindow() {
  Value x = ranked();
  if (!x || volume(dimsOf(x)) > 400)
    return;
  Type element = elementOf(x);
  const llvm::StringRef op = combiner(element);
  Dims window, strides, base, dilations, edges, shape;
  int64_t work = volume(dimsOf(x));
  for (int64_t size : dimsOf(x)) {
    window.push_back(draw.number(1, 3));
    strides.push_back(draw.number(1, 3));
    base.push_back(draw.oneIn(4) ? 2 : 1);
    dilations.push_back(draw.oneIn(4) ? 2 : 1);
    const int64_t low = draw.number(-1, 2), high = draw.number(0, 2);
    edges.push_back(low), edges.push_back(high);
    const int64_t spread = size == 0 ? 0 : (size - 1) * base.back() + 1;
    const int64_t padded = spread + low + high, reach = (window.back() - 1) * dilations.back() + 1;
    if (padded < 0)
      return;
    shape.push_back(padded < reach ? 0 : (padded - reach) / strides.back() + 1);
    work *= window.back();
  }
  if (volume(shape) > 2000 || work > 20000)
    return;
  Value start = startOf(op, element);
  add("stablehlo.reduce_window", tensor(shape, element), {x, start},
      {list("window_dimensions", window), list("window_strides", strides),
       list("base_dilations", base), list("window_dilations", dilations),
       padding("padding", edges)},
      {[&](Block &block) { body(block, element, op); }});
}

void Generator::selectAndScatter() {
  Value x = pick([](Value v) {
    return typeOf(v).getRank() > 0 && !isComplex(elementOf(v)) && !isPred(elementOf(v)) &&
           volume(dimsOf(v)) <= 400;
  });
  if (!x)
    return;
  Type element = elementOf(x);
  Dims window, strides, shape, edges;
  for (int64_t size : dimsOf(x)) {
    window.push_back(draw.number(1, std::min<int64_t>(3, std::max<int64_t>(size, 1))));
    strides.push_back(draw.number(1, 2));
    const bool isPadded = !wishes.forJaxlib && draw.oneIn(3);
    const int64_t low = isPadded ? draw.below(window.back()) : 0,
                  high = isPadded ? draw.below(window.back()) : 0, padded = size + low + high;
    edges.push_back(low), edges.push_back(high);
    shape.push_back(padded < window.back() ? 0 : (padded - window.back()) / strides.back() + 1);
  }
  Value source = of(tensor(shape, element)),
        start = constant(tensor({}, element), Numbers::nothing);
  const bool greatest = draw.oneIn(2);
  const llvm::StringRef op = isFloat(element) ? "stablehlo.add" : combiner(element);
  add("stablehlo.select_and_scatter", typeOf(x), {x, source, start},
      {list("window_dimensions", window), list("window_strides", strides),
       padding("padding", edges)},
      {[&](Block &block) {
         Value a = block.addArgument(tensor({}, element), loc),
               b = block.addArgument(tensor({}, element), loc);
         returns(block, compareScalars(a, b, greatest ? "GE" : "LE", false));
       },
       [&](Block &block) { body(block, element, op); }});
}

void Generator::sort() {
  Value x = pick([](Value v) { return typeOf(v).getRank() > 0 && !isComplex(elementOf(v)); });
  if (!x)
    return;
  const int64_t dim = draw.below(typeOf(x).getRank());
  llvm::SmallVector<Value> operands = {x};
  if (draw.oneIn(2)) {
    // Sorts another tensor along, or the indices: equal elements must stay in order.
    if (draw.oneIn(2))
      operands.push_back(create("stablehlo.iota", tensor(dimsOf(x), builder.getI32Type()), {},
                                number("iota_dimension", dim))
                             ->getResult(0));
    else
      operands.push_back(of(tensor(dimsOf(x), draw.pick(elements))));
  }
  const bool total = isFloat(elementOf(x)) && (wishes.forJaxlib || !draw.oneIn(4));
  const llvm::StringRef direction = draw.oneOf<llvm::StringRef>({"LT", "GT"});
  Operation *made = create("stablehlo.sort", ValueRange(operands).getTypes(), operands,
                           {number("dimension", draw.oneIn(4) ? dim - typeOf(x).getRank() : dim),
                            flag("is_stable", operands.size() > 1 || draw.oneIn(2))},
                           {[&](Block &block) {
                             for (Value operand : operands) {
                               block.addArgument(tensor({}, elementOf(operand)), loc);
                               block.addArgument(tensor({}, elementOf(operand)), loc);
                             }
                             returns(block, compareScalars(block.getArgument(0),
                                                           block.getArgument(1), direction, total));
                           }});
  keep(made->getResults());
}

void Generator::map() {
  Value x = pick([](Value v) { return isInt(elementOf(v)); });
  if (!x)
    return;
  Value y = like(x);
  Dims dims;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i)
    dims.push_back(i);
  auto scalar = tensor({}, elementOf(x));
  add("stablehlo.map", typeOf(x), {x, y}, list("dimensions", dims), {[&](Block &block) {
        Value a = block.addArgument(scalar, loc), b = block.addArgument(scalar, loc);
        Value sum = create("stablehlo.add", scalar, {a, b})->getResult(0);
        returns(block, create("stablehlo.xor", scalar, {sum, b})->getResults());
      }});
}

} // namespace tilewright::random
