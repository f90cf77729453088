#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/bounds/BoundsEvaluator.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"
#include "tilewright/numerics/Float.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mlir;
using tilewright::interpret::ElementType;
using tilewright::interpret::Tensor;
using tilewright::numerics::Scalar;

namespace tilewright::random {

const char *nameOf(Flavour flavour) {
  static constexpr const char *names[] = {
      "general",  "constants", "constant-loops", "nan-ties", "empty-shapes", "out-of-bounds",
      "sub-byte", "extremes",  "complexes",      "donation", "control-flow", "products"};
  static_assert(std::size(names) == flavourCount);
  return names[static_cast<size_t>(flavour)];
}

// --- numbers ---

static double edgeOf(Draw &draw, ElementType type, bool hasSubnormal) {
  const double most = numerics::highestOf(type).r;
  const double least = hasSubnormal ? numerics::decode(type, 1) : interpret::smallestNormal(type),
               one = 1, third = 1.0 / 3;
  const double edges[] = {0,     -0.0,   most, -most,       least, -least,     one,
                          third, NAN,    -one, most / 2,    NAN,   INFINITY,   -INFINITY,
                          0.5,   -third, 2.5,  least * 3.0, -2.5,  1 + 0x1p-52};
  return draw.pick(edges);
}

static Scalar drawReal(Draw &draw, ElementType type, Numbers numbers) {
  switch (numbers) {
  case Numbers::nothing:
    return Scalar::ofReal(0);
  case Numbers::wide: {
    // Every exponent, except those so close to the limits that all arithmetic overflows.
    double value = std::ldexp(static_cast<double>(draw.number(-(1 << 20), 1 << 20)),
                              static_cast<int>(draw.number(-30, -10)));
    return Scalar::ofReal(value);
  }
  case Numbers::edges:
  case Numbers::normalEdges:
    return Scalar::ofReal(draw.oneIn(3) ? static_cast<double>(draw.number(-32, 32)) / 8
                                        : edgeOf(draw, type, numbers == Numbers::edges));
  case Numbers::ties:
    return Scalar::ofReal(draw.oneOf<double>({0, 1, NAN, 1, -0.0, -1}));
  case Numbers::positive:
    return Scalar::ofReal(static_cast<double>(draw.number(2, 32)) / 8);
  default:
    return Scalar::ofReal(static_cast<double>(draw.number(-32, 32)) / 8);
  }
}

static Scalar drawInteger(Draw &draw, ElementType type, Numbers numbers) {
  const unsigned width = numerics::bitWidth(type);
  const bool isSigned = numerics::isSigned(type);
  auto wrapped = [&](uint64_t bits) {
    if (!isSigned)
      return Scalar::ofUnsigned(width == 64 ? bits : bits & ((uint64_t(1) << width) - 1));
    return Scalar::ofSigned(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  };
  switch (numbers) {
  case Numbers::nothing:
    return wrapped(0);
  case Numbers::wide:
    return wrapped(draw.bits());
  case Numbers::edges:
  case Numbers::normalEdges: {
    const uint64_t top = uint64_t(1) << (width - 1);
    return wrapped(draw.oneOf<uint64_t>({0, 1, ~uint64_t(0), top, top - 1, top + 1, width,
                                         width - 1, width + 1, 2, ~uint64_t(1), 3, draw.bits()}));
  }
  case Numbers::ties:
    return wrapped(static_cast<uint64_t>(draw.below(3)));
  case Numbers::indices:
    return wrapped(draw.oneIn(8) ? draw.bits() : static_cast<uint64_t>(draw.number(-3, 9)));
  case Numbers::positive:
    return wrapped(static_cast<uint64_t>(draw.number(1, 3)));
  default:
    return wrapped(static_cast<uint64_t>(draw.number(isSigned ? -6 : 0, 6)));
  }
}

Tensor drawTensor(Draw &draw, ElementType type, ArrayRef<int64_t> dims, Numbers numbers) {
  interpret::Context context;
  Tensor tensor = *Tensor::allocate(type, *numerics::Shape::create(dims), context);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    if (type == ElementType::pred) {
      tensor.set(i, Scalar::ofUnsigned(numbers == Numbers::nothing ? 0 : draw.bits() >> 63));
    } else if (numerics::isComplex(type)) {
      const ElementType part = numerics::componentOf(type);
      const double re = drawReal(draw, part, numbers).r, im = drawReal(draw, part, numbers).r;
      tensor.set(i, Scalar::ofComplex({re, im}));
    } else if (numerics::isReal(type)) {
      tensor.set(i, drawReal(draw, type, numbers));
    } else {
      tensor.set(i, drawInteger(draw, type, numbers));
    }
  }
  return tensor;
}

// --- types and shapes ---

int64_t Generator::volume(ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t size : dims)
    product *= size;
  return product;
}

unsigned Generator::widthOf(Type type) {
  return numerics::bitWidth(*interpret::elementTypeOf(type));
}

Type Generator::named(llvm::StringRef name) {
  return interpret::typeOf(*numerics::elementTypeNamed(name.str()), context);
}

Type Generator::drawElement() {
  static constexpr const char *usual[] = {"f32",  "f32", "f32",  "f32",  "f64",  "f64", "f16",
                                          "bf16", "i32", "i32",  "i32",  "i64",  "i64", "i8",
                                          "i16",  "ui8", "ui16", "ui32", "ui64", "i1",  "i1"};
  static constexpr const char *small[] = {
      "i2",       "i4",         "ui2",           "ui4",    "i4",       "ui4",      "f4E2M1FN",
      "f8E4M3FN", "f8E5M2",     "f8E4M3B11FNUZ", "f8E3M4", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU",
      "f8E4M3",   "f8E4M3FNUZ", "f8E5M2FNUZ",    "i8",     "ui8",      "i16",      "f32"};
  static constexpr const char *wide[] = {"f64", "f64", "i64", "i64", "ui64", "ui32", "i32", "f32"};
  static constexpr const char *twofold[] = {"complex<f32>", "complex<f32>", "complex<f64>", "f32",
                                            "f64"};
  static constexpr const char *ordered[] = {"f32", "f32", "f64", "bf16", "f16", "i32"};
  static constexpr const char *packed[] = {"i4",  "ui4",      "i4",       "i2",
                                           "ui2", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"};
  if (wishes.narrow && !draw.oneIn(4))
    return named(draw.pick(packed));
  switch (flavour) {
  case Flavour::subByte:
    return named(draw.oneIn(5) ? draw.pick(usual) : draw.pick(small));
  case Flavour::extremes:
    return named(draw.pick(wide));
  case Flavour::complexes:
    return named(draw.pick(twofold));
  case Flavour::nanTies:
    return named(draw.pick(ordered));
  default:
    return named(draw.pick(usual));
  }
}

Dims Generator::drawDims(int64_t maxRank) {
  Dims dims;
  const int64_t rank = std::min(maxRank, draw.oneOf<int64_t>({0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4}));
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(draw.pick(sizes));
  while (volume(dims) > 600)
    *std::max_element(dims.begin(), dims.end()) = 2;
  return dims;
}

// --- values ---

Value Generator::pick(llvm::function_ref<bool(Value)> wanted) {
  std::vector<Value> fitting;
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType()) && wanted(value))
      fitting.push_back(value);
  if (fitting.empty())
    return {};
  const auto recent = std::min<int64_t>(4, static_cast<int64_t>(fitting.size()));
  return draw.oneIn(2) ? fitting[fitting.size() - 1 - static_cast<size_t>(draw.below(recent))]
                       : draw.pick(fitting);
}

Numbers Generator::numbersFor(Type element) {
  // jaxlib treats subnormal numbers as zero, which changes the result of comparisons.
  const Numbers edges = wishes.forJaxlib ? Numbers::normalEdges : Numbers::edges;
  switch (flavour) {
  case Flavour::nanTies:
    return draw.oneOf({Numbers::ties, Numbers::ties, edges, Numbers::small});
  case Flavour::extremes:
    return draw.oneOf({edges, edges, Numbers::wide, Numbers::small});
  case Flavour::outOfBounds:
    return isInt(element) ? Numbers::indices : Numbers::small;
  case Flavour::subByte:
    return draw.oneOf({Numbers::wide, edges, Numbers::small});
  case Flavour::products:
  case Flavour::complexes:
    return draw.oneIn(6) ? Numbers::wide : Numbers::small;
  default:
    return draw.oneOf({Numbers::small, Numbers::small, Numbers::small, Numbers::wide,
                       Numbers::positive, edges, Numbers::nothing});
  }
}

Value Generator::constant(TensorType type, const Tensor &tensor) {
  Value made = create("stablehlo.constant", type, {},
                      attribute("value", interpret::attributeOf(tensor, type)))
                   ->getResult(0);
  keep(made);
  return made;
}

Value Generator::constant(TensorType type, Numbers numbers) {
  const ElementType element = *interpret::elementTypeOf(type.getElementType());
  if (draw.oneIn(3)) { // a splat
    Tensor one = drawTensor(draw, element, {}, numbers);
    interpret::Context spending;
    return constant(type, *Tensor::filled(element, *numerics::Shape::create(type.getShape()),
                                          one.at(0), spending));
  }
  return constant(type, drawTensor(draw, element, type.getShape(), numbers));
}

Value Generator::fresh(TensorType type, const Tensor &tensor) {
  if (isolated || has(Flavour::constants) || has(Flavour::constantLoops) || inputs.size() >= 12)
    return constant(type, tensor);
  inputs.emplace_back(tensor);
  Value argument = main.getBody().front().addArgument(type, loc);
  // The input outlives the region that asked for it, so it goes before the region's values.
  values.insert(values.begin(), argument);
  return argument;
}

Value Generator::fresh(TensorType type, Numbers numbers) {
  if (has(Flavour::constants) || has(Flavour::constantLoops) || draw.oneIn(4))
    return constant(type, numbers);
  return fresh(type, drawTensor(draw, *interpret::elementTypeOf(type.getElementType()),
                                type.getShape(), numbers));
}

Value Generator::of(TensorType type) {
  if (!draw.oneIn(5))
    if (Value there = pick([&](Value value) { return value.getType() == type; }))
      return there;
  if (type.getRank() > 0 && draw.oneIn(4)) {
    // Broadcasts a tensor of fewer dimensions.
    Dims dims, places;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (draw.oneIn(2)) {
        dims.push_back(draw.oneIn(4) ? 1 : type.getDimSize(i));
        places.push_back(i);
      }
    Value source = fresh(tensor(dims, type.getElementType()));
    return add("stablehlo.broadcast_in_dim", type, source, list("broadcast_dimensions", places));
  }
  return fresh(type);
}

Value Generator::integers(ArrayRef<int64_t> numbers, Type element) {
  auto type = tensor({static_cast<int64_t>(numbers.size())}, element);
  interpret::Context spending;
  const ElementType kind = *interpret::elementTypeOf(element);
  Tensor made = *Tensor::allocate(kind, *numerics::Shape::create(type.getShape()), spending);
  for (size_t i = 0; i < numbers.size(); ++i)
    made.set(static_cast<int64_t>(i), Scalar::ofSigned(numbers[i]));
  Value value = constant(type, made);
  values.pop_back(); // not to be used by other rules
  return value;
}

Value Generator::scalarIndex(Type element, int64_t size) {
  auto type = tensor({}, element);
  if (draw.oneIn(2))
    if (Value there = pick([&](Value value) { return value.getType() == type; }))
      return there;
  return fresh(type,
               has(Flavour::outOfBounds) || draw.oneIn(3) ? Numbers::indices : Numbers::small);
}

// --- ops ---

NamedAttribute Generator::attribute(llvm::StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}
NamedAttribute Generator::list(llvm::StringRef name, ArrayRef<int64_t> numbers) {
  return attribute(name, builder.getDenseI64ArrayAttr(numbers));
}
NamedAttribute Generator::number(llvm::StringRef name, int64_t value, unsigned bits) {
  return attribute(name, builder.getIntegerAttr(builder.getIntegerType(bits), value));
}
NamedAttribute Generator::flag(llvm::StringRef name, bool value) {
  return attribute(name, builder.getBoolAttr(value));
}
NamedAttribute Generator::padding(llvm::StringRef name, ArrayRef<int64_t> numbers) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size() / 2), 2}, builder.getI64Type());
  return attribute(name, DenseIntElementsAttr::get(type, numbers));
}
NamedAttribute Generator::comparison(llvm::StringRef direction) {
  return attribute("comparison_direction",
                   stablehlo::ComparisonDirectionAttr::get(
                       &context, *stablehlo::symbolizeComparisonDirection(direction)));
}

Operation *Generator::create(llvm::StringRef name, TypeRange results, ValueRange operands,
                             ArrayRef<Named> attributes, ArrayRef<Build> regions) {
  OperationState state(loc, name, operands, results, attributes);
  for (Build build : regions) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = state.addRegion()->emplaceBlock();
    builder.setInsertionPointToEnd(&block);
    build(block);
  }
  return builder.create(state);
}

void Generator::keep(ValueRange made) { values.insert(values.end(), made.begin(), made.end()); }

Value Generator::add(llvm::StringRef name, Type result, ValueRange operands,
                     ArrayRef<Named> attributes, ArrayRef<Build> regions) {
  Value made = create(name, result, operands, attributes, regions)->getResult(0);
  keep(made);
  return made;
}

void Generator::returns(Block &block, ValueRange results) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  create("stablehlo.return", TypeRange{}, results);
}

void Generator::body(Block &block, Type element, llvm::StringRef op) {
  auto scalar = tensor({}, element);
  Value x = block.addArgument(scalar, loc), y = block.addArgument(scalar, loc);
  returns(block, create(op, scalar, {x, y})->getResults());
}

llvm::StringRef Generator::combiner(Type element) {
  if (isPred(element))
    return draw.oneOf<llvm::StringRef>({"stablehlo.and", "stablehlo.or", "stablehlo.xor"});
  if (isFloat(element))
    return draw.oneOf<llvm::StringRef>({"stablehlo.add", "stablehlo.add", "stablehlo.maximum",
                                        "stablehlo.minimum", "stablehlo.multiply"});
  if (isComplex(element))
    return "stablehlo.add";
  return draw.oneOf<llvm::StringRef>({"stablehlo.add", "stablehlo.maximum", "stablehlo.minimum",
                                      "stablehlo.and", "stablehlo.or", "stablehlo.xor",
                                      "stablehlo.multiply"});
}

Value Generator::startOf(llvm::StringRef op, Type element) {
  auto scalar = tensor({}, element);
  // Any start value will do if it is combined once; implementations that may combine it more often
  // need the neutral one.
  if (!wishes.forJaxlib && draw.oneIn(4))
    return of(scalar);
  const ElementType type = *interpret::elementTypeOf(element);
  Scalar start = numerics::zeroOf(type);
  if (op == "stablehlo.multiply")
    start = numerics::oneOf(type);
  else if (op == "stablehlo.maximum")
    start = numerics::lowestOf(type);
  else if (op == "stablehlo.minimum")
    start = numerics::highestOf(type);
  else if (op == "stablehlo.and")
    start = numerics::isSigned(type) ? Scalar::ofSigned(-1) : numerics::highestOf(type);
  interpret::Context spending;
  return constant(scalar, *Tensor::scalar(type, start, spending));
}

void Generator::nested(Block &block, TypeRange results, int ops) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&block);
  const std::vector<Value> outside = values;
  const size_t argumentsBefore = inputs.size();
  keep(block.getArguments());
  ++depth;
  for (int i = 0; i < ops; ++i)
    randomOp();
  llvm::SmallVector<Value> chosen;
  for (Type type : results) {
    // Prefers a value that the region computed to one from outside.
    Value made = pick(
        [&](Value value) { return value.getType() == type && value.getParentBlock() == &block; });
    chosen.push_back(made && !draw.oneIn(6) ? made : of(cast<RankedTensorType>(type)));
  }
  --depth;
  builder.setInsertionPointToEnd(&block);
  create("stablehlo.return", TypeRange{}, chosen);
  // Inputs that were added meanwhile remain in scope.
  const size_t added = inputs.size() - argumentsBefore;
  std::vector<Value> left(values.begin(), values.begin() + static_cast<ptrdiff_t>(added));
  left.insert(left.end(), outside.begin(), outside.end());
  values = std::move(left);
}

// --- the whole program ---

llvm::ArrayRef<Generator::Rule> Generator::rules() {
  using F = Flavour;
  static const Rule all[] = {
      {&Generator::unary, 8, {F::extremes, F::complexes}},
      {&Generator::binary, 12, {F::extremes, F::complexes, F::subByte, F::nanTies}},
      {&Generator::shift, 2, {F::extremes}},
      {&Generator::compareAndSelect, 4, {F::nanTies}},
      {&Generator::clamp, 2, {F::nanTies}},
      {&Generator::convert, 5, {F::subByte, F::extremes}},
      {&Generator::bitcast, 2, {F::subByte}},
      {&Generator::complexParts, 2, {F::complexes}},
      {&Generator::precision, 1, {}},
      {&Generator::identity, 2, {F::donation, F::constants}},
      {&Generator::reshape, 4, {F::donation}},
      {&Generator::transpose, 3, {}},
      {&Generator::broadcast, 3, {}},
      {&Generator::slice, 3, {F::donation, F::emptyShapes}},
      {&Generator::reverse, 2, {}},
      {&Generator::pad, 3, {F::emptyShapes}},
      {&Generator::concatenate, 3, {F::donation, F::emptyShapes}},
      {&Generator::iota, 2, {}},
      {&Generator::dynamicSlice, 3, {F::outOfBounds}},
      {&Generator::dynamicUpdateSlice, 3, {F::outOfBounds, F::donation}},
      {&Generator::gather, 3, {F::outOfBounds}},
      {&Generator::scatter, 3, {F::outOfBounds}},
      {&Generator::indexSelect, 1, {F::outOfBounds}},
      {&Generator::shapeByValue, 3, {}},
      {&Generator::reduce, 5, {F::emptyShapes, F::nanTies}},
      {&Generator::orderedReduce, 1, {F::emptyShapes}},
      {&Generator::argReduce, 2, {F::nanTies}},
      {&Generator::reduceWindow, 3, {}},
      {&Generator::selectAndScatter, 1, {}},
      {&Generator::sort, 3, {F::nanTies}},
      {&Generator::map, 1, {}},
      {&Generator::dot, 1, {F::products}},
      {&Generator::dotGeneral, 3, {F::products, F::emptyShapes}},
      {&Generator::einsum, 1, {}},
      {&Generator::convolution, 2, {F::products}},
      {&Generator::linearAlgebra, 2, {F::products, F::emptyShapes}},
      {&Generator::fourier, 1, {F::complexes}},
      {&Generator::batchNorm, 1, {F::products}},
      {&Generator::branch, 2, {F::controlFlow}},
      {&Generator::switchCase, 2, {F::controlFlow}},
      {&Generator::loop, 2, {F::controlFlow}},
      {&Generator::constantLoop, 1, {F::constantLoops}},
      {&Generator::carryLoop, 1, {F::donation, F::controlFlow}},
      {&Generator::callFunction, 1, {}},
      {&Generator::composite, 1, {}},
      {&Generator::barrier, 1, {}},
      {&Generator::tuple, 1, {}},
      {&Generator::randomBits, 1, {}},
      {&Generator::gatherAny, 2, {F::outOfBounds, F::emptyShapes}, false},
      {&Generator::scatterAny, 3, {F::outOfBounds, F::emptyShapes}, false},
      {&Generator::updateLoop, 1, {F::controlFlow, F::donation}, false},
      {&Generator::topK, 1, {F::nanTies}, false},
      {&Generator::wideProduct, 1, {F::products}, false},
      {&Generator::attention, 1, {F::products}, false},
      {&Generator::raggedDot, 1, {F::products}, false},
      {&Generator::longRow, 1, {}, false},
      {&Generator::prefixes, 2, {F::nanTies}, false},
      {&Generator::sortByKeys, 2, {F::nanTies}, false},
  };
  return all;
}

Generator::Generator(MLIRContext &context, uint64_t seed, const Wishes &wishes)
    : context(context), draw(seed), wishes(wishes),
      flavour(static_cast<Flavour>(seed % flavourCount)), builder(&context),
      loc(UnknownLoc::get(&context)) {}

void Generator::randomOp() {
  int64_t total = 0;
  auto weightOf = [&](const Rule &rule) {
    if (wishes.forJaxlib && !rule.isForJaxlib)
      return 0;
    return rule.weight * (llvm::is_contained(rule.favours, flavour) ? 6 : 1);
  };
  for (const Rule &rule : rules())
    total += weightOf(rule);
  int64_t at = draw.below(total);
  for (const Rule &rule : rules()) {
    at -= weightOf(rule);
    if (at < 0)
      return (this->*rule.write)();
  }
}

RandomProgram Generator::make() {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  main = func::FuncOp::create(builder, loc, "main", builder.getFunctionType({}, {}));
  main.setPublic();
  builder.setInsertionPointToEnd(main.addEntryBlock());

  const int64_t kinds = draw.number(1, 3);
  for (int64_t i = 0; i < kinds; ++i)
    elements.push_back(drawElement());
  static constexpr int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33};
  static constexpr int64_t empty[] = {0, 1, 1, 2, 3, 0};
  for (int64_t i = 0, n = draw.number(2, 4); i < n; ++i)
    sizes.push_back(has(Flavour::emptyShapes) ? draw.pick(empty) : draw.pick(usual));
  for (int64_t i = 0, n = draw.number(1, 3); i < n; ++i) {
    auto type = tensor(drawDims(), draw.pick(elements));
    fresh(type);
    if (draw.oneIn(2))
      fresh(type);
  }
  const auto wanted = static_cast<int>(draw.number(wishes.ops / 2, wishes.ops));
  for (int i = 0; i < wanted; ++i)
    randomOp();
  finish();
  if (failed(verify(*module))) {
    module->dump();
    std::fprintf(stderr, "a rule wrote a program that does not verify\n");
    std::abort();
  }
  return {std::move(module), std::move(inputs), flavour};
}

void Generator::finish() {
  llvm::SmallVector<Value> results;
  for (Value value : values)
    if (value.use_empty() && isa<RankedTensorType>(value.getType()) && !isa<BlockArgument>(value) &&
        results.size() < 8)
      results.push_back(value);
  for (int64_t i = draw.below(3); i-- > 0;)
    if (Value value = any())
      results.push_back(value); // perhaps an input, perhaps the same value twice
  if (results.empty())
    results.push_back(fresh(tensor({}, draw.pick(elements))));
  donate(results);
  func::ReturnOp::create(builder, loc, results);
  main.setFunctionType(
      builder.getFunctionType(main.getBody().getArgumentTypes(), ValueRange(results).getTypes()));
  // Chooses which inputs are donated, and to which result.
  if (inputs.empty() || (!has(Flavour::donation) && draw.oneIn(2)))
    return;
  llvm::SmallVector<bool> taken(results.size());
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    if (draw.oneIn(3))
      continue;
    llvm::SmallVector<unsigned> fitting;
    for (unsigned k = 0; k < results.size(); ++k)
      if (!taken[k] && results[k].getType() == main.getArgument(i).getType())
        fitting.push_back(k);
    if (fitting.empty() || draw.oneIn(3)) {
      main.setArgAttr(i, "jax.buffer_donor", builder.getBoolAttr(true));
      continue;
    }
    const unsigned chosen = draw.pick(fitting);
    taken[chosen] = true;
    main.setArgAttr(i, "tf.aliasing_output",
                    builder.getI32IntegerAttr(static_cast<int32_t>(chosen)));
  }
}

/// Returns inputs as results: unchanged, in another order, or reshaped.
void Generator::donate(llvm::SmallVectorImpl<Value> &results) {
  if (!has(Flavour::donation) && !draw.oneIn(8))
    return;
  for (BlockArgument argument : main.getBody().getArguments()) {
    if (draw.oneIn(3))
      continue;
    Value result = argument;
    if (draw.oneIn(4)) {
      auto flat = tensor({volume(dimsOf(result))}, elementOf(result));
      result = create("stablehlo.reshape", flat, result)->getResult(0);
      if (draw.oneIn(2))
        result = create("stablehlo.reshape", argument.getType(), result)->getResult(0);
    }
    results.insert(results.begin() + draw.below(static_cast<int64_t>(results.size()) + 1), result);
  }
}

RandomProgram randomProgram(MLIRContext &context, uint64_t seed, const Wishes &wishes) {
  return Generator(context, seed, wishes).make();
}

void countOps(ModuleOp module, std::map<std::string, int64_t> &counts) {
  module.walk([&](Operation *op) { ++counts[op->getName().getStringRef().str()]; });
}

} // namespace tilewright::random
