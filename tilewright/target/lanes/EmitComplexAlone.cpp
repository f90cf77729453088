// Functions of complex<f32> for machines without a scalar table. They compute in f64, where squares
// neither overflow nor underflow, and round once. Others are in EmitComplexPair.cpp.
#include "tilewright/target/lanes/MathWide.h"
#include "tilewright/target/lanes/RegionEmitter.h"

using namespace llvm;

namespace tilewright::lanes {

namespace {

struct Complex : Wide {
  struct Number {
    Value *re, *im;
  };
  Value *either(Value *x, Value *y) { return ir.CreateOr(x, y); }
  Value *both(Value *x, Value *y) { return ir.CreateAnd(x, y); }
  Value *isInf(Value *x) { return equal(abs(x), HUGE_VAL); }
  Value *isNan(Value *x) { return ir.CreateFCmpUNO(x, x); }
  Value *isFinite(Value *x) { return less(abs(x), HUGE_VAL); }
  Value *size(Number z) {
    Value *root = sqrt(add(mul(z.re, z.re), mul(z.im, z.im)));
    return select(either(isInf(z.re), isInf(z.im)), c(root, HUGE_VAL), root);
  }
  Number pick(Value *condition, Number x, Number y) {
    return {select(condition, x.re, y.re), select(condition, x.im, y.im)};
  }

  Number sign(Number z) {
    Value *length = size(z);
    Number unit = pick(equal(length, 0.0), z, {div(z.re, length), div(z.im, length)});
    Value *isNone = either(isNan(z.re), isNan(z.im));
    return pick(isNone, {nan(length), nan(length)}, unit);
  }

  /// Division with the infinities that Annex G of the C standard requires.
  Number divide(Number x, Number y) {
    auto top = [&](Number a, Number d) -> Number {
      return {add(mul(a.re, d.re), mul(a.im, d.im)), sub(mul(a.im, d.re), mul(a.re, d.im))};
    };
    Value *below = add(mul(y.re, y.re), mul(y.im, y.im));
    Number above = top(x, y);
    Number plain = {div(above.re, below), div(above.im, below)};
    Value *infinity = c(below, HUGE_VAL), *zero = c(below, 0.0), *one = c(below, 1.0);
    auto boxed = [&](Number z) -> Number {
      return {Wide::sign(select(isInf(z.re), one, zero), z.re),
              Wide::sign(select(isInf(z.im), one, zero), z.im)};
    };
    auto times = [&](Value *factor, Number z) -> Number {
      return {mul(factor, z.re), mul(factor, z.im)};
    };
    Value *byZero = both(equal(below, 0.0), ir.CreateNot(both(isNan(x.re), isNan(x.im))));
    Value *ofInfinite =
        both(either(isInf(x.re), isInf(x.im)), both(isFinite(y.re), isFinite(y.im)));
    Value *byInfinite =
        both(either(isInf(y.re), isInf(y.im)), both(isFinite(x.re), isFinite(x.im)));
    Number result = pick(byInfinite, times(zero, top(x, boxed(y))), plain);
    result = pick(ofInfinite, times(infinity, top(boxed(x), y)), result);
    result = pick(byZero, times(Wide::sign(infinity, y.re), x), result);
    return pick(both(isNan(plain.re), isNan(plain.im)), result, plain);
  }

  Number exp(Number z, Value *angle) {
    Value *power = Wide::exp(z.re);
    Turned turned = turn(emitAngle(b, angle));
    Number result = {mul(power, sinOf(turned, 1)), mul(power, sinOf(turned, 0))};
    result = pick(equal(z.im, 0.0), {power, z.im}, result);
    // If the imaginary part is not finite: e^-inf is zero, and e^inf is infinite in an unknown
    // direction.
    Value *isLost = ir.CreateNot(isFinite(z.im));
    Value *zero = c(power, 0.0), *infinity = c(power, HUGE_VAL);
    result = pick(both(isLost, equal(z.re, HUGE_VAL)), {infinity, nan(power)}, result);
    return pick(both(isLost, equal(z.re, -HUGE_VAL)), {zero, zero}, result);
  }

  Number log(Number z) {
    Value *square = add(mul(z.re, z.re), mul(z.im, z.im));
    // Near one, compute |z|² - 1 from exact products.
    Value *large = select(ir.CreateFCmpOGT(abs(z.re), abs(z.im)), z.re, z.im);
    Value *small = select(ir.CreateFCmpOGT(abs(z.re), abs(z.im)), z.im, z.re);
    Value *one = c(square, 1.0), *top = abs(large);
    Value *rest = b.multiplyAdd(small, small, mul(sub(top, one), add(top, one)));
    Value *isNear = both(more(square, 0.5), less(square, 2.0));
    Value *logarithm = select(isNear, log1p(rest), Wide::log(square));
    logarithm = select(either(isInf(z.re), isInf(z.im)), c(square, HUGE_VAL), logarithm);
    return {mul(logarithm, c(square, 0.5)), atan2(z.im, z.re)};
  }

  Number root(Number z) {
    Value *length = size(z);
    Value *t = sqrt(mul(add(abs(z.re), length), c(length, 0.5)));
    Value *rest = div(z.im, add(t, t));
    Value *isLeft = less(z.re, 0.0);
    Number result = pick(isLeft, {abs(rest), Wide::sign(t, z.im)}, {t, rest});
    Value *zero = c(t, 0.0), *infinity = c(t, HUGE_VAL);
    result = pick(equal(length, 0.0), {zero, z.im}, result);
    Value *none = select(isNan(z.im), z.im, zero);
    result = pick(equal(z.re, HUGE_VAL), {infinity, Wide::sign(none, z.im)}, result);
    result = pick(equal(z.re, -HUGE_VAL), {none, Wide::sign(infinity, z.im)}, result);
    return pick(isInf(z.im), {infinity, z.im}, result);
  }

  Value *sinh(Value *x) {
    Value *q = expm1(abs(x));
    return Wide::sign(mul(add(q, div(q, add(q, c(q, 1.0)))), c(q, 0.5)), x);
  }
  Value *cosh(Value *x) {
    Value *power = Wide::exp(abs(x));
    return mul(add(power, div(c(power, 1.0), power)), c(power, 0.5));
  }
  /// An imaginary part of the form factor · sinh: zero on the real axis, even if the factor is NaN.
  Value *onReals(Number z, Value *imaginary) {
    Value *isNan = ir.CreateFCmpUNO(imaginary, imaginary);
    return select(ir.CreateAnd(isNan, equal(z.im, 0.0)), z.im, imaginary);
  }
  /// sin(z); cosine() has the same form, rotated by a quarter turn.
  Number sine(Number z, Value *angle) {
    Turned turned = turn(emitAngle(b, angle));
    Value *flat = select(equal(z.re, 0.0), z.re, sinOf(turned, 0)); // keeps -0
    return {mul(flat, cosh(z.im)), onReals(z, mul(sinOf(turned, 1), sinh(z.im)))};
  }
  Number cosine(Number z, Value *angle) {
    Turned turned = turn(emitAngle(b, angle));
    Value *flat = select(equal(z.re, 0.0), z.re, sinOf(turned, 0));
    return {mul(sinOf(turned, 1), cosh(z.im)), onReals(z, ir.CreateFNeg(mul(flat, sinh(z.im))))};
  }
};

} // namespace

Lanes emitComplexAlone(LaneBuilder &b, StringRef name, mlir::Type operand, ArrayRef<Lanes> x) {
  Complex w{{b}};
  const bool isSingle = mlir::cast<mlir::ComplexType>(operand).getElementType().isF32();
  auto number = [&](Lanes value) -> Complex::Number {
    return {w.in(value.value), w.in(value.imag)};
  };
  auto rounded = [&](Complex::Number z) -> Lanes { return {w.out(z.re), w.out(z.im)}; };
  if (isSingle) {
    Complex::Number z = number(x[0]);
    if (name == "abs")
      return {w.out(w.size(z))};
    if (name == "sign")
      return rounded(w.sign(z));
    if (name == "divide")
      return rounded(w.divide(z, number(x[1])));
    if (name == "exponential")
      return rounded(w.exp(z, x[0].imag));
    if (name == "log")
      return rounded(w.log(z));
    if (name == "sqrt")
      return rounded(w.root(z));
    if (name == "rsqrt") {
      Value *one = w.c(z.re, 1.0), *zero = w.c(z.re, 0.0);
      Complex::Number inverse = w.divide({one, zero}, w.root(z));
      Value *isInfinite = w.either(w.isInf(z.re), w.isInf(z.im));
      return rounded(
          w.pick(isInfinite, {zero, w.Wide::sign(zero, b.ir.CreateFNeg(z.im))}, inverse));
    }
    if (name == "sine")
      return rounded(w.sine(z, x[0].value));
    if (name == "cosine")
      return rounded(w.cosine(z, x[0].value));
  }
  return emitComplexByPairs(b, name, isSingle, x);
}

} // namespace tilewright::lanes
