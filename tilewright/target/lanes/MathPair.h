// Numbers of about 100 bits, as sums of two f64, for functions whose results are f64: one lane.
#ifndef TILEWRIGHT_TARGET_LANES_MATHPAIR_H
#define TILEWRIGHT_TARGET_LANES_MATHPAIR_H

#include "tilewright/target/lanes/MathWide.h"

namespace tilewright::lanes {

/// hi + lo, where hi is the sum rounded to f64. If hi is not finite, lo is zero, so that infinities
/// and NaN propagate as they do in f64.
struct Pair {
  llvm::Value *hi, *lo;
};

/// Formulas in pairs. Sums, products, quotients and roots have a relative error below 2^-98, the
/// functions below 2^-66, unless hi or the low part of a product leaves the range of f64; scale()
/// helps there.
struct Pairs : Wide {
  // --- Numbers ---
  Pair of(Value *x) { return {x, c(x, 0.0)}; }
  Pair constant(Value *like, double hi, double lo = 0) { return {c(like, hi), c(like, lo)}; }
  /// 1 / n for an integer that f64 represents.
  Pair inverse(Value *like, double n) {
    const double hi = 1 / n;
    return constant(like, hi, std::fma(-hi, n, 1.0) / n);
  }
  Value *isFinite(Value *x) { return less(abs(x), HUGE_VAL); }
  Value *isInf(Value *x) { return equal(abs(x), HUGE_VAL); }
  Value *isNan(Value *x) { return ir.CreateFCmpUNO(x, x); }
  Value *either(Value *x, Value *y) { return ir.CreateOr(x, y); }
  Value *both(Value *x, Value *y) { return ir.CreateAnd(x, y); }
  Value *fma(Value *x, Value *y, Value *z) { return b.intrinsic(llvm::Intrinsic::fma, {x, y, z}); }
  Value *isMinus(Value *x) { return ir.CreateICmpSLT(b.bits(x), b.integer(b.bits(x), 0)); }
  Pair pick(Value *condition, Pair x, Pair y) {
    return {select(condition, x.hi, y.hi), select(condition, x.lo, y.lo)};
  }
  Pair negative(Pair x) { return {ir.CreateFNeg(x.hi), ir.CreateFNeg(x.lo)}; }
  Pair negativeIf(Value *condition, Pair x) { return pick(condition, negative(x), x); }
  Pair size(Pair x) { return negativeIf(isMinus(x.hi), x); }

  // --- Arithmetic ---
  Pair clean(Value *hi, Value *lo) { return {hi, select(isFinite(hi), lo, c(hi, 0.0))}; }
  /// The exact sum, if |x| ≥ |y|. Keeps a minus zero.
  Pair quickSum(Value *x, Value *y) {
    Value *sum = select(equal(y, 0.0), x, add(x, y));
    return clean(sum, sub(y, sub(sum, x)));
  }
  /// The exact sum.
  Pair sum(Value *x, Value *y) {
    Value *sum = add(x, y), *part = sub(sum, x);
    return clean(sum, add(sub(x, sub(sum, part)), sub(y, part)));
  }
  /// The exact product.
  Pair product(Value *x, Value *y) {
    Value *high = mul(x, y);
    return clean(high, fma(x, y, ir.CreateFNeg(high)));
  }
  Pair plus(Pair x, Pair y) {
    Pair high = sum(x.hi, y.hi), low = sum(x.lo, y.lo);
    high = quickSum(high.hi, add(high.lo, low.hi));
    return quickSum(high.hi, add(high.lo, low.lo));
  }
  Pair plus(Pair x, Value *y) {
    Pair high = sum(x.hi, y);
    return quickSum(high.hi, add(high.lo, x.lo));
  }
  Pair minus(Pair x, Pair y) { return plus(x, negative(y)); }
  Pair times(Pair x, Pair y) {
    Pair high = product(x.hi, y.hi);
    return quickSum(high.hi, lowPart(high, add(high.lo, fma(x.hi, y.lo, mul(x.lo, y.hi)))));
  }
  Pair times(Pair x, Value *y) {
    Pair high = product(x.hi, y);
    return quickSum(high.hi, lowPart(high, fma(x.lo, y, high.lo)));
  }
  /// Replace an infinity by zero, because its product with the low part of a factor would be NaN.
  Value *lowPart(Pair high, Value *low) { return clean(high.hi, low).lo; }
  /// x · factor for a power of two.
  Pair scaledBy(Pair x, Value *factor) { return clean(mul(x.hi, factor), mul(x.lo, factor)); }
  Pair scaledBy(Pair x, double factor) { return scaledBy(x, c(x.hi, factor)); }
  /// The remainder of a tiny number would be subnormal, and lose digits, so tiny numbers are
  /// scaled.
  Pair over(Pair whole, Pair y) {
    Value *isTiny = less(abs(whole.hi), 0x1p-800);
    Pair x = scaledBy(whole, select(isTiny, c(y.hi, 0x1p200), c(y.hi, 1.0)));
    Value *first = div(x.hi, y.hi);
    Pair covered = product(first, y.hi);
    Value *rest =
        add(sub(sub(x.hi, covered.hi), covered.lo), fma(first, ir.CreateFNeg(y.lo), x.lo));
    // The quotient of an infinity or by zero has no remainder.
    Value *second = select(isFinite(first), div(rest, y.hi), c(first, 0.0));
    Pair result = quickSum(first, select(isFinite(second), second, c(first, 0.0)));
    return scaledBy(result, select(isTiny, c(y.hi, 0x1p-200), c(y.hi, 1.0)));
  }
  Pair square(Pair x) { return times(x, x); }
  Pair root(Pair x) {
    Value *first = sqrt(x.hi);
    Pair covered = product(first, first);
    Value *rest = add(sub(sub(x.hi, covered.hi), covered.lo), x.lo);
    Value *second = div(rest, add(first, first));
    return quickSum(first, select(isFinite(second), second, c(first, 0.0)));
  }
  /// lead[0] + z (lead[1] + z (… + z (tail[0] + z (tail[1] …)))): the first terms as pairs, and
  /// those that contribute little in f64.
  Pair series(Pair z, llvm::ArrayRef<Pair> lead, llvm::ArrayRef<double> tail) {
    Pair result = of(emitPolynomial(b, z.hi, tail));
    for (Pair coefficient : llvm::reverse(lead))
      result = plus(times(z, result), coefficient);
    return result;
  }

  // --- Exponents ---
  /// A power of two with which `size`, the larger part of a number, is between 1/2 and 4, or, if it
  /// is subnormal, below 1; and its inverse. Both are normal.
  struct Scale {
    Value *in, *out, *exponent; // out is 2^exponent
  };
  Scale scaleOf(Value *size);
  /// value · 2^n, where n is an integer of up to ±2044 in the low bits of `shifted`.
  Value *scaled(Value *x, Value *shifted);
  /// Encodes an integer in the form that scaled() expects.
  Value *shiftOf(Value *n);
  Pair scaled(Pair x, Value *shifted) {
    return clean(scaled(x.hi, shifted), scaled(x.lo, shifted));
  }

  // --- Functions ---
  /// e^x = 2^n (1 + rest), with n in the low bits of `shifted`. |rest| ≤ √2 - 1. Clamps x to ±800,
  /// beyond which every product of e^x with a number that matters over- or underflows.
  struct Power {
    Value *shifted, *n;
    Pair rest;
  };
  Power power(Pair x);
  Pair mantissa(const Power &power) { return plus(power.rest, c(power.n, 1.0)); }
  Pair exp(Pair x);
  Pair expm1(Pair x);
  /// log(1 + x) for √½ ≤ 1 + x ≤ √2.
  Pair logNear(Pair x);
  Pair log(Pair x);
  Pair log1p(Pair x);
  /// The quadrant, in the low two bits, and the sine and cosine of the remaining angle.
  struct Turn {
    Value *quadrant;
    Pair sin, cos;
  };
  Turn turn(Pair x);
  Pair sin(const Turn &t, int64_t quarter);
  Pair sine(const Turn &t) { return sin(t, 0); }
  Pair cosine(const Turn &t) { return sin(t, 1); }
  /// x y 2^n, where x may be so small that its product with y loses digits.
  Pair timesScaled(Pair x, Pair y, Value *shifted) {
    Value *isTiny = less(abs(x.hi), 0x1p-800);
    Pair inside = scaledBy(x, select(isTiny, c(x.hi, 0x1p200), c(x.hi, 1.0)));
    return scaledBy(scaled(times(inside, y), shifted),
                    select(isTiny, c(x.hi, 0x1p-200), c(x.hi, 1.0)));
  }
  /// sinh and cosh as numbers that must be multiplied by 2^n.
  struct Hyperbolic {
    Value *shifted;
    Pair sinh, cosh;
  };
  Hyperbolic hyperbolic(Pair x);
  /// The shift for 2^-n.
  Value *negatedShift(const Power &power);
  Pair atan2(Pair y, Pair x);
  /// √(x² + y²).
  Pair hypot(Value *x, Value *y);

private:
  struct Reduced {
    Value *quadrant;
    Pair rest;
  };
  Reduced nearAngle(Value *x);
  Reduced farAngle(Value *x);
  /// Sine and cosine of an angle of up to π/4.
  Turn turnOf(Reduced angle);
};

/// Functions of f64 by pairs: what MathAlone.cpp does not compute in f64. Null if there is none.
llvm::Value *emitByPairs(LaneBuilder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> x);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_MATHPAIR_H
