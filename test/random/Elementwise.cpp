// Rules: elementwise ops.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::random {

void Generator::unary() {
  Value x = any();
  if (!x)
    return;
  Type element = elementOf(x);
  llvm::StringRef op;
  if (isPred(element))
    op = "not";
  else if (isFloat(element))
    op = draw.oneOf<llvm::StringRef>({"abs",
                                      "negate",
                                      "sign",
                                      "ceil",
                                      "floor",
                                      "round_nearest_afz",
                                      "round_nearest_even",
                                      "cbrt",
                                      "cosine",
                                      "exponential",
                                      "exponential_minus_one",
                                      "log",
                                      "log_plus_one",
                                      "logistic",
                                      "rsqrt",
                                      "sine",
                                      "sqrt",
                                      "tan",
                                      "tanh",
                                      "is_finite",
                                      "abs",
                                      "negate"});
  else if (isComplex(element))
    op = draw.oneOf<llvm::StringRef>({"abs", "negate", "sign", "cbrt", "cosine", "exponential",
                                      "exponential_minus_one", "log", "log_plus_one", "logistic",
                                      "rsqrt", "sine", "sqrt", "tan", "tanh", "negate", "negate"});
  else
    op = draw.oneOf<llvm::StringRef>(
        {"abs", "negate", "sign", "not", "popcnt", "count_leading_zeros"});
  if (isUnsigned(element) && (op == "abs" || op == "sign"))
    op = "not";
  // jaxlib computes these wrongly (README.md).
  if (wishes.forJaxlib && op == "count_leading_zeros")
    op = "popcnt";
  if (wishes.forJaxlib && element.isF64() && op == "log_plus_one")
    op = "log";
  // Implementations differ in signs and parts of complex functions at poles and branch cuts.
  if (wishes.forJaxlib && isComplex(element) && op != "negate" && op != "exponential")
    op = "abs";
  TensorType type = typeOf(x);
  if (op == "is_finite")
    type = tensor(type.getShape(), builder.getI1Type());
  else if (op == "abs" && isComplex(element))
    type = tensor(type.getShape(), cast<ComplexType>(element).getElementType());
  add(("stablehlo." + op).str(), type, x);
}

void Generator::binary() {
  Value x = any();
  if (!x)
    return;
  Value y = like(x);
  Type element = elementOf(x);
  llvm::StringRef op;
  if (isPred(element))
    op = draw.oneOf<llvm::StringRef>({"and", "or", "xor", "add", "multiply", "maximum", "minimum"});
  else if (isFloat(element))
    op =
        draw.oneOf<llvm::StringRef>({"add", "subtract", "multiply", "divide", "maximum", "minimum",
                                     "add", "subtract", "multiply", "power", "remainder", "atan2"});
  else if (isComplex(element))
    op = draw.oneOf<llvm::StringRef>({"add", "subtract", "multiply", "divide", "add", "multiply"});
  else
    op = draw.oneOf<llvm::StringRef>({"add", "subtract", "multiply", "divide", "remainder",
                                      "maximum", "minimum", "and", "or", "xor", "power"});
  // jaxlib computes these wrongly (README.md).
  auto isComputed = [](Value value) {
    return value.getDefiningOp() &&
           value.getDefiningOp()->getName().getStringRef() != "stablehlo.constant";
  };
  if (wishes.forJaxlib && op == "power" && (isInt(element) || isComputed(x) || isComputed(y)))
    op = "multiply";
  if (wishes.forJaxlib && isPred(element) && op == "add")
    op = "or";
  if (isComplex(element) && !wishes.forJaxlib && draw.oneIn(8))
    op = draw.oneOf<llvm::StringRef>({"power", "atan2", "maximum", "minimum"});
  if (draw.oneIn(2))
    std::swap(x, y);
  add(("stablehlo." + op).str(), typeOf(x), {x, y});
}

void Generator::shift() {
  Value x = pick([](Value v) { return isInt(elementOf(v)); });
  if (!x)
    x = fresh(tensor(drawDims(2), named(draw.oneOf<const char *>({"i32", "ui32", "i64", "ui8"}))));
  // Shift distances from zero to beyond the width.
  Value y = draw.oneIn(2) ? like(x) : fresh(typeOf(x), Numbers::edges);
  add(draw.oneOf<llvm::StringRef>({"stablehlo.shift_left", "stablehlo.shift_right_arithmetic",
                                   "stablehlo.shift_right_logical"}),
      typeOf(x), {x, y});
}

void Generator::compareAndSelect() {
  Value x = any();
  if (!x)
    return;
  Value y = like(x);
  Type element = elementOf(x);
  llvm::SmallVector<NamedAttribute> attributes;
  attributes.push_back(comparison(
      isComplex(element) ? draw.oneOf<llvm::StringRef>({"EQ", "NE"})
                         : draw.oneOf<llvm::StringRef>({"EQ", "NE", "LT", "LE", "GT", "GE"})));
  if (isFloat(element) && draw.oneIn(3))
    attributes.push_back(attribute(
        "compare_type",
        stablehlo::ComparisonTypeAttr::get(&context, stablehlo::ComparisonType::TOTALORDER)));
  Value p = add("stablehlo.compare", tensor(dimsOf(x), builder.getI1Type()), {x, y}, attributes);
  if (draw.oneIn(4)) // a scalar predicate for all elements
    p = of(tensor({}, builder.getI1Type()));
  add("stablehlo.select", typeOf(x), {p, x, y});
}

void Generator::clamp() {
  Value x = pick([](Value v) { return !isComplex(elementOf(v)) && !isPred(elementOf(v)); });
  if (!x)
    return;
  auto limit = [&] { return draw.oneIn(2) ? like(x) : of(tensor({}, elementOf(x))); };
  Value low = limit(), high = limit();
  if (wishes.forJaxlib && (low == x || high == x))
    return; // jaxlib simplifies this wrongly (README.md)
  add("stablehlo.clamp", typeOf(x), {low, x, high});
}

void Generator::convert() {
  Value x = any();
  if (!x)
    return;
  Type to = draw.oneIn(3) ? drawElement() : draw.pick(elements);
  if (isComplex(elementOf(x)) && !isComplex(to))
    to = draw.oneIn(2) ? named("complex<f64>") : named("complex<f32>");
  // XLA defines conversions of out-of-range floats to integers, and conversions to complex, in its
  // own way.
  if (wishes.forJaxlib &&
      (isComplex(to) || (isFloat(elementOf(x)) && isInt(to)) || (isFloat(to) && widthOf(to) < 8)))
    return;
  add("stablehlo.convert", tensor(dimsOf(x), to), x);
}

void Generator::bitcast() {
  Value x = pick([](Value v) { return !isComplex(elementOf(v)) && !isPred(elementOf(v)); });
  if (!x)
    return;
  static constexpr const char *names[] = {
      "i2",   "ui2", "i4",   "ui4", "f4E2M1FN", "i8",  "ui8", "f8E4M3FN", "f8E5M2", "i16",
      "ui16", "f16", "bf16", "i32", "ui32",     "f32", "i64", "ui64",     "f64"};
  const unsigned width = widthOf(elementOf(x));
  // The last dimension holds the parts.
  llvm::SmallVector<Type> fitting;
  const Dims dims = dimsOf(x);
  for (const char *name : names) {
    Type type = named(name);
    const unsigned other = widthOf(type);
    if (wishes.forJaxlib && std::min(other, width) < 8)
      continue; // XLA packs these types differently
    if (other == width || (other < width && width % other == 0 && width / other <= 8) ||
        (other > width && other % width == 0 && !dims.empty() &&
         dims.back() == static_cast<int64_t>(other / width)))
      fitting.push_back(type);
  }
  if (fitting.empty())
    return;
  Type to = draw.pick(fitting);
  const unsigned other = widthOf(to);
  Dims shape = dims;
  if (other < width)
    shape.push_back(width / other);
  else if (other > width)
    shape.pop_back();
  if (volume(shape) > 2000)
    return;
  Value y = add("stablehlo.bitcast_convert", tensor(shape, to), x);
  if (draw.oneIn(2)) // and back
    add("stablehlo.bitcast_convert", typeOf(x), y);
}

void Generator::complexParts() {
  if (Value z = pick([](Value v) { return isComplex(elementOf(v)); }); z && draw.oneIn(2)) {
    add(draw.oneOf<llvm::StringRef>({"stablehlo.real", "stablehlo.imag"}),
        tensor(dimsOf(z), cast<ComplexType>(elementOf(z)).getElementType()), z);
    return;
  }
  Value x = pick([](Value v) { return isWideFloat(elementOf(v)); });
  if (!x)
    x = fresh(tensor(drawDims(2), builder.getF32Type()));
  Value y = like(x);
  add("stablehlo.complex", tensor(dimsOf(x), ComplexType::get(elementOf(x))), {x, y});
}

void Generator::precision() {
  Value x = pick([](Value v) { return isFloat(elementOf(v)) && widthOf(elementOf(v)) >= 16; });
  if (!x)
    x = fresh(tensor(drawDims(2), builder.getF32Type()));
  auto [exponent, mantissa] =
      draw.oneOf<std::pair<int, int>>({{5, 10}, {8, 7}, {4, 3}, {5, 2}, {8, 23}, {3, 4}});
  add("stablehlo.reduce_precision", typeOf(x), x,
      {number("exponent_bits", exponent, 32), number("mantissa_bits", mantissa, 32)});
}

/// Identities for simplification: x + 0, x * 1, two transpositions, two negations.
void Generator::identity() {
  Value x = any();
  if (!x)
    return;
  const auto type = typeOf(x);
  interpret::Context spending;
  auto filled = [&](const numerics::Scalar &scalar) {
    const interpret::ElementType element = *interpret::elementTypeOf(type.getElementType());
    return constant(type,
                    *interpret::Tensor::filled(element, *numerics::Shape::create(type.getShape()),
                                               scalar, spending));
  };
  const interpret::ElementType element = *interpret::elementTypeOf(type.getElementType());
  switch (draw.below(5)) {
  case 0:
    add("stablehlo.add", type, {x, filled(numerics::zeroOf(element))});
    break;
  case 1:
    add("stablehlo.multiply", type, {x, filled(numerics::oneOf(element))});
    break;
  case 2:
    if (isInt(elementOf(x))) {
      Value y = like(x);
      Value z = add("stablehlo.subtract", type, {y, y});
      add("stablehlo.add", type, {z, x});
    }
    break;
  case 3:
    if (type.getRank() > 0) {
      Value y = add("stablehlo.reverse", type, x, list("dimensions", {0}));
      add("stablehlo.reverse", type, y, list("dimensions", {0}));
    }
    break;
  default:
    if (!isPred(elementOf(x)))
      add("stablehlo.negate", type, add("stablehlo.negate", type, x));
  }
}

} // namespace tilewright::random
