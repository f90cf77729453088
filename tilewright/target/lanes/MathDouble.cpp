// Functions of f64 by pairs, for machines without a C library: one lane.
#include "tilewright/target/lanes/MathPair.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tilewright::lanes {

namespace {

struct Functions : Pairs {
  Value *keepZero(Value *x, Value *result) { return select(equal(x, 0.0), x, result); }
  Pair one(Value *like) { return constant(like, 1.0); }

  Value *sine(Value *x) { return keepZero(x, Pairs::sine(turn(of(x))).hi); }
  Value *cosine(Value *x) { return Pairs::cosine(turn(of(x))).hi; }
  Value *tangent(Value *x) {
    Turn t = turn(of(x));
    Value *isOdd = hasBit(t.quadrant, 1);
    Pair result = over(pick(isOdd, negative(t.cos), t.sin), pick(isOdd, t.sin, t.cos));
    return keepZero(x, result.hi);
  }

  Value *power(Value *x, Value *y) {
    Pairs::Power p = Pairs::power(times(log(of(abs(x))), y));
    return powerEdges(x, y, scaled(mantissa(p).hi, p.shifted));
  }

  Value *angle(Value *y, Value *x) {
    // A small angle is a ratio, which a single division rounds once, even if it is subnormal.
    Value *isFlat =
        both(ir.CreateFCmpOLT(abs(y), mul(abs(x), c(x, 0x1p-35))), ir.CreateNot(isMinus(x)));
    return select(isFlat, div(y, x), atan2(of(y), of(x)).hi);
  }
  /// √((1 - x) (1 + x)), whose factors are exact.
  Pair besides(Value *x) {
    return root(times(sum(c(x, 1.0), ir.CreateFNeg(x)), sum(c(x, 1.0), x)));
  }
  Value *arcsine(Value *x) { return keepZero(x, atan2(of(x), besides(x)).hi); }
  Value *arccosine(Value *x) { return atan2(besides(x), of(x)).hi; }

  Value *sineHyperbolic(Value *x) {
    Hyperbolic h = hyperbolic(of(x));
    // For tiny numbers, the products would underflow, but sinh(x) is x.
    return select(less(abs(x), 0x1p-30), x, scaled(h.sinh.hi, h.shifted));
  }
  Value *cosineHyperbolic(Value *x) {
    Hyperbolic h = hyperbolic(of(x));
    return scaled(h.cosh.hi, h.shifted);
  }
  /// sign(x) log(|x| + √(x² + 1)), as log1p(|x| + x² / (1 + √(x² + 1))), beyond 2^60 as log(2|x|).
  Value *arcsineHyperbolic(Value *x) {
    Pair far = plus(log(of(abs(x))), ln2(x));
    Value *inside = select(more(abs(x), 0x1p60), c(x, 1.0), abs(x));
    Pair square = product(inside, inside);
    Pair below = plus(root(plus(square, c(x, 1.0))), c(x, 1.0));
    Pair near = log1p(plus(over(square, below), inside));
    // The square of a tiny number would underflow, but there the result is x.
    Value *result = select(more(abs(x), 0x1p60), far.hi, near.hi);
    return select(less(abs(x), 0x1p-30), x, sign(result, x));
  }
  /// log1p(t + √(2t + t²)) with t = x - 1, beyond 2^60 as log(2x).
  Value *arccosineHyperbolic(Value *x) {
    Pair far = plus(log(of(x)), ln2(x));
    Value *inside = select(more(x, 0x1p60), c(x, 2.0), x);
    Pair t = sum(inside, c(x, -1.0));
    Pair near = log1p(plus(t, root(times(t, plus(t, c(x, 2.0))))));
    Value *result = select(more(x, 0x1p60), far.hi, near.hi);
    return select(ir.CreateFCmpULT(x, c(x, 1.0)), nan(x), result);
  }
  /// sign(x) log1p(2|x| / (1 - |x|)) / 2.
  Value *arctangentHyperbolic(Value *x) {
    Value *size = abs(x);
    Pair ratio = over(of(add(size, size)), sum(c(x, 1.0), ir.CreateFNeg(size)));
    Value *result = mul(log1p(ratio).hi, c(x, 0.5));
    result = select(more(size, 1.0), nan(x), result);
    return select(less(size, 0x1p-30), x, sign(result, x));
  }
  Pair ln2(Value *like) { return constant(like, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56); }

  /// erfc(x) for x ≥ 0 as e^(-x²) times a smooth function.
  Value *erfcAbove(Value *x) {
    Value *inside = select(more(x, 28.0), c(x, 28.0), x);
    Pair t = over(sum(inside, c(x, -3.75)), sum(inside, c(x, 3.75)));
    Pair smooth = sum(c(x, coefficients::erfcScaledDouble[0]),
                      mul(t.hi, emitPolynomial(b, t.hi, drop(coefficients::erfcScaledDouble))));
    smooth = over(smooth, sum(c(x, 1.0), add(inside, inside)));
    Pairs::Power p = Pairs::power(negative(product(inside, inside)));
    return scaled(times(mantissa(p), smooth).hi, p.shifted);
  }
  static ArrayRef<double> drop(ArrayRef<double> all) { return all.drop_front(); }
  /// x + x P(x²).
  Value *erfNear(Value *x) {
    return fma(x, emitPolynomial(b, mul(x, x), coefficients::erfSlopeDouble), x);
  }
  Value *erf(Value *x) {
    Value *isNear = less(abs(x), 0.75);
    Value *near = erfNear(select(isNear, x, c(x, 0.0)));
    Value *far = sign(sub(c(x, 1.0), erfcAbove(abs(x))), x);
    return select(isNear, near, far);
  }
  Value *erfc(Value *x) {
    // 1 - erf(x) is accurate near zero, and 2 - erfc(-x) below zero.
    Value *isNear = both(more(x, -0.75), less(x, 0.46875));
    Value *near = sub(c(x, 1.0), erfNear(select(isNear, x, c(x, 0.0))));
    Value *above = erfcAbove(abs(x));
    return select(isNear, near, select(less(x, 0.0), sub(c(x, 2.0), above), above));
  }
};

} // namespace

Value *emitByPairs(LaneBuilder &b, StringRef name, ArrayRef<Value *> x) {
  Functions f{{{b}}};
  using Unary = Value *(Functions::*)(Value *);
  using Binary = Value *(Functions::*)(Value *, Value *);
  Unary unary = StringSwitch<Unary>(name)
                    .Case("sin", &Functions::sine)
                    .Case("cos", &Functions::cosine)
                    .Case("tan", &Functions::tangent)
                    .Case("asin", &Functions::arcsine)
                    .Case("acos", &Functions::arccosine)
                    .Case("sinh", &Functions::sineHyperbolic)
                    .Case("cosh", &Functions::cosineHyperbolic)
                    .Case("asinh", &Functions::arcsineHyperbolic)
                    .Case("acosh", &Functions::arccosineHyperbolic)
                    .Case("atanh", &Functions::arctangentHyperbolic)
                    .Case("erf", &Functions::erf)
                    .Case("erfc", &Functions::erfc)
                    .Default(nullptr);
  if (unary)
    return (f.*unary)(x[0]);
  if (name == "atan")
    return f.angle(x[0], f.c(x[0], 1.0));
  Binary binary = StringSwitch<Binary>(name)
                      .Case("pow", &Functions::power)
                      .Case("atan2", &Functions::angle)
                      .Default(nullptr);
  return binary ? (f.*binary)(x[0], x[1]) : nullptr;
}

} // namespace tilewright::lanes
