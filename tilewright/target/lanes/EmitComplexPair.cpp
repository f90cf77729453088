// Functions of complex numbers by pairs, for machines without a scalar table: all of complex<f64>,
// and those of complex<f32> that EmitComplexAlone.cpp does not compute in f64.
//
// The formulas and the results for infinities and NaN are those of numerics/scalar/Complex.cpp.
#include "tilewright/target/lanes/MathPair.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tilewright::lanes {

namespace {

struct Number {
  Pair re, im;
};

struct Complex : Pairs {
  Number pick(Value *condition, Number x, Number y) {
    return {Pairs::pick(condition, x.re, y.re), Pairs::pick(condition, x.im, y.im)};
  }
  using Pairs::pick;
  Pair zero(Value *like) { return constant(like, 0.0); }
  Pair infinite(Value *like) { return constant(like, HUGE_VAL); }
  Pair unknown(Value *like) { return of(nan(like)); }
  /// x, with a zero replaced by y, which is a zero with a sign.
  Pair keepZero(Pair x, Value *y) { return pick(equal(y, 0.0), of(y), x); }
  Value *largest(Number z) {
    Value *re = abs(z.re.hi), *im = abs(z.im.hi);
    return select(ir.CreateFCmpOGT(re, im), re, im);
  }
  Value *isInfinite(Number z) { return either(isInf(z.re.hi), isInf(z.im.hi)); }
  Value *isFiniteNumber(Number z) { return both(isFinite(z.re.hi), isFinite(z.im.hi)); }
  Number scaledBy(Number z, Value *factor) {
    return {Pairs::scaledBy(z.re, factor), Pairs::scaledBy(z.im, factor)};
  }
  using Pairs::scaledBy;

  Number multiply(Number x, Number y) {
    return {minus(Pairs::times(x.re, y.re), Pairs::times(x.im, y.im)),
            plus(Pairs::times(x.re, y.im), Pairs::times(x.im, y.re))};
  }
  Pair squareOfSize(Number z) { return plus(square(z.re), square(z.im)); }

  Number sign(Number z) {
    Scale scale = scaleOf(largest(z));
    Number inside = scaledBy(z, scale.in);
    Pair length = root(squareOfSize(inside));
    Value *like = length.hi;
    Number unit = {over(inside.re, length), over(inside.im, length)};
    // Components of infinite numbers: x / inf is zero, and inf / inf is NaN.
    Number far = {pick(isInf(z.re.hi), unknown(like), of(Wide::sign(c(like, 0.0), z.re.hi))),
                  pick(isInf(z.im.hi), unknown(like), of(Wide::sign(c(like, 0.0), z.im.hi)))};
    unit = {keepZero(unit.re, z.re.hi), keepZero(unit.im, z.im.hi)};
    unit = pick(isInfinite(z), far, unit);
    Value *isNone = either(isNan(z.re.hi), isNan(z.im.hi));
    return pick(isNone, {unknown(like), unknown(like)}, unit);
  }

  /// x conj(y).
  Number turnedBack(Number x, Number y) { return multiply(x, {y.re, negative(y.im)}); }
  /// Division with the infinities that Annex G of the C standard requires.
  Number divide(Number x, Number y) {
    Scale left = scaleOf(largest(x)), right = scaleOf(largest(y));
    Number over1 = scaledBy(x, left.in), under = scaledBy(y, right.in);
    Pair below = squareOfSize(under);
    Number above = turnedBack(over1, under);
    // |under| is at least 1/2 unless y is subnormal, so the quotient stays in range until the end.
    Value *shifted = shiftOf(ir.CreateSub(left.exponent, right.exponent));
    auto back = [&](Pair part) { return scaled(over(part, below), shifted); };
    Number plain = {back(above.re), back(above.im)};
    Value *like = below.hi, *one = c(like, 1.0), *none = c(like, 0.0);
    auto boxed = [&](Number z) -> Number {
      auto part = [&](Value *v) { return of(Wide::sign(select(isInf(v), one, none), v)); };
      return {part(z.re.hi), part(z.im.hi)};
    };
    auto times = [&](Value *factor, Number z) -> Number {
      return {of(mul(factor, z.re.hi)), of(mul(factor, z.im.hi))};
    };
    Value *isZero = both(equal(y.re.hi, 0.0), equal(y.im.hi, 0.0));
    Value *byZero = both(isZero, ir.CreateNot(both(isNan(x.re.hi), isNan(x.im.hi))));
    Value *ofInfinite = both(isInfinite(x), isFiniteNumber(y));
    Value *byInfinite = both(isInfinite(y), isFiniteNumber(x));
    Number result = pick(byInfinite, times(none, turnedBack(x, boxed(y))), plain);
    result = pick(ofInfinite, times(c(like, HUGE_VAL), turnedBack(boxed(x), y)), result);
    result = pick(byZero, times(Wide::sign(c(like, HUGE_VAL), y.re.hi), x), result);
    return pick(both(isNan(plain.re.hi), isNan(plain.im.hi)), result, plain);
  }

  Number exp(Number z) {
    Power p = power(z.re);
    Pair size = mantissa(p);
    Turn turned = turn(z.im);
    Pair flat = scaled(size, p.shifted);
    Number result = {scaled(times(size, cosine(turned)), p.shifted),
                     scaled(times(size, sine(turned)), p.shifted)};
    result = pick(equal(z.im.hi, 0.0), {flat, z.im}, result);
    // If the imaginary part is not finite: e^-inf is zero, and e^inf is infinite in an unknown
    // direction.
    Value *isLost = ir.CreateNot(isFinite(z.im.hi)), *like = z.re.hi;
    result = pick(both(isLost, equal(like, HUGE_VAL)), {infinite(like), unknown(like)}, result);
    return pick(both(isLost, equal(like, -HUGE_VAL)), {zero(like), zero(like)}, result);
  }

  /// log|1 + z|: log1p(x (2 + x) + y²) / 2, where nothing cancels near zero.
  Pair logNearOne(Number z) {
    Pair rest = plus(times(z.re, plus(z.re, c(z.re.hi, 2.0))), square(z.im));
    return scaledBy(log1p(rest), 0.5);
  }
  Number log(Number z) {
    Value *most = largest(z), *like = most;
    Value *isNear = both(more(most, 0.5), less(most, 1.5));
    // Near one, 1 is subtracted from the larger part first, which is exact.
    Value *isSteep = ir.CreateFCmpOGT(abs(z.im.hi), abs(z.re.hi));
    Pair large = size(pick(isSteep, z.im, z.re)), small = pick(isSteep, z.re, z.im);
    Pair near = logNearOne({plus(large, c(like, -1.0)), small});
    Scale scale = scaleOf(most);
    Number inside = scaledBy(z, scale.in);
    Pair far = plus(scaledBy(Pairs::log(squareOfSize(inside)), 0.5), Pairs::log(of(scale.out)));
    Pair length = pick(isNear, near, far);
    length = pick(isInfinite(z), infinite(like), length);
    Value *isZero = both(equal(z.re.hi, 0.0), equal(z.im.hi, 0.0));
    return {pick(isZero, constant(like, -HUGE_VAL), length), atan2(z.im, z.re)};
  }
  Number log1p(Number z) {
    Value *like = z.re.hi;
    Value *isNear = both(less(abs(z.re.hi), 0.5), less(abs(z.im.hi), 0.5));
    Number moved = log({plus(z.re, c(like, 1.0)), z.im});
    Pair near = logNearOne({pick(isNear, z.re, zero(like)), pick(isNear, z.im, zero(like))});
    return {pick(isNear, near, moved.re), moved.im};
  }
  using Pairs::log1p;

  Number root(Number z) {
    Value *like = z.re.hi;
    // An even exponent, so that its root is a power of two.
    Scale scale = scaleOf(largest(z));
    Value *odd = ir.CreateICmpEQ(ir.CreateAnd(ir.CreateLShr(b.bits(scale.out), 52), 1),
                                 b.integer(b.bits(like), 0));
    Value *in = mul(scale.in, select(odd, c(like, 0.5), c(like, 1.0)));
    Value *out = sqrt(mul(scale.out, select(odd, c(like, 2.0), c(like, 1.0))));
    Number inside = scaledBy(z, in);
    Pair length = Pairs::root(squareOfSize(inside));
    Pair t = Pairs::root(scaledBy(plus(size(inside.re), length), 0.5));
    Pair rest = over(inside.im, scaledBy(t, 2.0));
    t = scaledBy(t, out);
    rest = scaledBy(rest, out);
    Pair signedT = negativeIf(isMinus(z.im.hi), t);
    Number result = pick(less(z.re.hi, 0.0), {size(rest), signedT},
                         {t, pick(isNan(z.re.hi), rest, keepZero(rest, z.im.hi))});
    Value *isZero = both(equal(z.re.hi, 0.0), equal(z.im.hi, 0.0));
    result = pick(isZero, {zero(like), z.im}, result);
    Value *none = select(isNan(z.im.hi), z.im.hi, c(like, 0.0));
    Pair edge = of(Wide::sign(none, z.im.hi)), far = of(Wide::sign(c(like, HUGE_VAL), z.im.hi));
    result = pick(equal(z.re.hi, HUGE_VAL), {infinite(like), edge}, result);
    result = pick(equal(z.re.hi, -HUGE_VAL), {of(none), far}, result);
    return pick(isInf(z.im.hi), {infinite(like), z.im}, result);
  }
  using Pairs::root;
  Number inverseRoot(Number z) {
    Value *like = z.re.hi;
    Number inverse = divide({constant(like, 1.0), zero(like)}, root(z));
    Pair edge = of(Wide::sign(c(like, 0.0), ir.CreateFNeg(z.im.hi)));
    return pick(isInfinite(z), {zero(like), edge}, inverse);
  }

  /// Whether sine and cosine are infinite in an unknown direction.
  Value *isLost(Number z) { return both(ir.CreateNot(isFinite(z.re.hi)), isInf(z.im.hi)); }
  /// sin(x + iy) = sin x cosh y + i cos x sinh y.
  Number sine(Number z) {
    Turn t = turn(z.re);
    Hyperbolic h = hyperbolic(z.im);
    Pair re = timesScaled(Pairs::sine(t), h.cosh, h.shifted);
    Pair im = scaled(times(Pairs::cosine(t), h.sinh), h.shifted);
    im = pick(isLost(z), of(abs(z.im.hi)), im);
    return {keepZero(re, z.re.hi), keepZero(im, Pairs::cosine(t), z.im.hi)};
  }
  /// cos(x + iy) = cos x cosh y - i sin x sinh y.
  Number cosine(Number z) {
    Turn t = turn(z.re);
    Hyperbolic h = hyperbolic(z.im);
    Pair flat = keepZero(Pairs::sine(t), z.re.hi);
    Pair im = negative(timesScaled(flat, h.sinh, h.shifted));
    Value *isZero = either(equal(z.re.hi, 0.0), equal(z.im.hi, 0.0));
    Value *none =
        ir.CreateFNeg(mul(Wide::sign(c(im.hi, 0.0), flat.hi), Wide::sign(c(im.hi, 1.0), z.im.hi)));
    Pair re = scaled(times(Pairs::cosine(t), h.cosh), h.shifted);
    return {pick(isLost(z), of(abs(z.im.hi)), re), pick(isZero, of(none), im)};
  }
  /// A zero that comes from y has the sign of the product of both factors.
  Pair keepZero(Pair result, Pair factor, Value *y) {
    Value *none = mul(Wide::sign(c(y, 1.0), factor.hi), y);
    return pick(equal(y, 0.0), of(none), result);
  }
  using Pairs::cosine;
  using Pairs::sine;

  /// tan(x + iy) = (sin x cos x + i sinh y cosh y) / (cos² x + sinh² y). Each part consists of
  /// trigonometric factors and hyperbolic ones.
  Number tangent(Pair angle, Pair other) {
    Value *like = angle.hi;
    Turn t = turn(angle);
    Pair sin = sine(t), cos = cosine(t);
    Value *isFar = more(abs(other.hi), 25.0);
    Hyperbolic h = hyperbolic(pick(isFar, of(c(like, 1.0)), other));
    Pair sinh = scaled(h.sinh, h.shifted), cosh = scaled(h.cosh, h.shifted);
    Pair below = plus(square(cos), square(sinh));
    Pair turned = times(sin, cos);
    Pair near = over(turned, below);
    // Far from the real axis the real part is 4 sin x cos x e^(-2|y|), and the imaginary part 1.
    Power p = power(negative(size(scaledBy(other, 2.0))));
    Pair far = scaled(scaledBy(times(turned, mantissa(p)), 4.0), p.shifted);
    Pair part = keepZero(pick(isFar, far, near), like);
    Pair rest = keepZero(over(times(sinh, cosh), below), other.hi);
    rest = pick(isFar, of(Wide::sign(c(like, 1.0), other.hi)), rest);
    // If an operand is infinite, the part whose angle cannot be computed is zero.
    Value *isEnd = isInf(other.hi);
    Value *lost = both(isEnd, ir.CreateNot(isFinite(angle.hi)));
    part = pick(both(isEnd, isNan(far.hi)), of(Wide::sign(c(like, 0.0), like)), part);
    part = pick(lost, of(Wide::sign(c(like, 0.0), like)), part);
    // If the angle is zero, so is this part, even if the other operand is NaN.
    Value *isAxis = both(isNan(other.hi), equal(angle.hi, 0.0));
    return {pick(isAxis, angle, part), rest};
  }

  Number expm1(Number z) {
    Value *like = z.re.hi;
    Turn t = turn(z.im), half = turn(scaledBy(z.im, 0.5));
    Pair less1 = Pairs::expm1(z.re), power = Pairs::exp(z.re);
    Pair re = minus(times(less1, cosine(t)), scaledBy(square(sine(half)), 2.0));
    Number result = {re, times(power, sine(t))};
    Pair flat = keepZero(less1, like);
    return pick(equal(z.im.hi, 0.0), {flat, z.im}, result);
  }
  using Pairs::expm1;

  Number raise(Number base, Number exponent) {
    Value *like = base.re.hi;
    auto isZero = [&](Number z) { return both(equal(z.re.hi, 0.0), equal(z.im.hi, 0.0)); };
    Number result = exp(multiply(exponent, log(base)));
    Number none = {zero(like), zero(like)}, nothing = {unknown(like), unknown(like)};
    result = pick(isZero(base), pick(more(exponent.re.hi, 0.0), none, nothing), result);
    return pick(isZero(exponent), {constant(like, 1.0), zero(like)}, result);
  }

  /// arctan(x + iy): real part ½ atan2(2x, 1 - x² - y²), imaginary part ¼ log1p(4y / (x² + (1 -
  /// y)²)).
  Number arctangent(Number z) {
    Value *one = c(z.re.hi, 1.0);
    Pair squares = squareOfSize(z);
    Pair re = scaledBy(atan2(scaledBy(z.re, 2.0), negative(plus(squares, c(one, -1.0)))), 0.5);
    Pair away = plus(negative(z.im), one);
    Pair ratio = over(scaledBy(z.im, 4.0), plus(square(z.re), square(away)));
    return {re, scaledBy(log1p(ratio), 0.25)};
  }
  /// -i log((x + iy) / √(x² + y²)), which extends the real atan2. Near zero the logarithm loses
  /// digits; the arctangent of y / x does not, and gives the same angle up to a multiple of π.
  Number angle(Number y, Number x) {
    Value *like = x.re.hi;
    // By a multiplication, which gives zeros the signs that decide on the side of a branch cut.
    Number iy = multiply({zero(like), constant(like, 1.0)}, y);
    Number turned = {plus(x.re, iy.re), plus(x.im, iy.im)};
    Number xx = multiply(x, x), yy = multiply(y, y);
    Number logarithm = log(divide(turned, root({plus(xx.re, yy.re), plus(xx.im, yy.im)})));
    Number result = {logarithm.im, negative(logarithm.re)};
    Number arc = arctangent(divide(y, x));
    Pair pi = constant(like, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
    Value *turns = b.intrinsic(Intrinsic::round,
                               {mul(sub(result.re.hi, arc.re.hi), c(like, 0.31830988618379067))});
    Number moved = {plus(arc.re, times(pi, turns)), arc.im};
    return pick(isFiniteNumber(arc), moved, result);
  }

  Number function(StringRef name, Number x, Number y);
};

Number Complex::function(StringRef name, Number x, Number y) {
  using Unary = Number (Complex::*)(Number);
  Unary unary = StringSwitch<Unary>(name)
                    .Case("sign", &Complex::sign)
                    .Case("exponential", &Complex::exp)
                    .Case("exponentialMinusOne", &Complex::expm1)
                    .Case("log", &Complex::log)
                    .Case("logPlusOne", &Complex::log1p)
                    .Case("sqrt", &Complex::root)
                    .Case("rsqrt", &Complex::inverseRoot)
                    .Case("sine", &Complex::sine)
                    .Case("cosine", &Complex::cosine)
                    .Default(nullptr);
  if (unary)
    return (this->*unary)(x);
  if (name == "tan")
    return tangent(x.re, x.im);
  if (name == "tanh") {
    Number turned = tangent(x.im, x.re);
    return {turned.im, turned.re};
  }
  return name == "divide" ? divide(x, y) : name == "power" ? raise(x, y) : angle(x, y);
}

} // namespace

Lanes emitComplexByPairs(LaneBuilder &b, StringRef name, bool isSingle, ArrayRef<Lanes> x) {
  Complex w{{{b}}};
  auto in = [&](Value *value) { return w.of(isSingle ? w.in(value) : value); };
  auto out = [&](Pair value) { return isSingle ? w.out(value.hi) : value.hi; };
  Number first = {in(x[0].value), in(x[0].imag)};
  if (name == "abs")
    return {out(w.hypot(first.re.hi, first.im.hi))};
  Number second = x.size() > 1 ? Number{in(x[1].value), in(x[1].imag)} : first;
  Number result = w.function(name, first, second);
  return {out(result.re), out(result.im)};
}

} // namespace tilewright::lanes
