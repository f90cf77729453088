// Formulas in f64 for results in f32, which need no special handling near zeros and poles.
#ifndef TILEWRIGHT_TARGET_LANES_MATHWIDE_H
#define TILEWRIGHT_TARGET_LANES_MATHWIDE_H

#include "tilewright/target/lanes/MathCoefficients.h"
#include "tilewright/target/lanes/MathFunctions.h"

#include "llvm/IR/Intrinsics.h"

namespace tilewright::lanes {

/// Formulas in f64, for results in f32.
struct Wide {
  using Value = llvm::Value;
  using Type = llvm::Type;
  LaneBuilder &b;
  llvm::IRBuilder<> &ir = b.ir;

  Value *in(Value *x) { return ir.CreateFPExt(x, b.vectorOf(ir.getDoubleTy(), b.lanesOf(x))); }
  Value *out(Value *x) { return ir.CreateFPTrunc(x, b.vectorOf(ir.getFloatTy(), b.lanesOf(x))); }
  Value *c(Value *like, double value) { return b.real(like, value); }
  Value *add(Value *x, Value *y) { return ir.CreateFAdd(x, y); }
  Value *sub(Value *x, Value *y) { return ir.CreateFSub(x, y); }
  Value *mul(Value *x, Value *y) { return ir.CreateFMul(x, y); }
  Value *div(Value *x, Value *y) { return ir.CreateFDiv(x, y); }
  Value *abs(Value *x) { return b.intrinsic(llvm::Intrinsic::fabs, {x}); }
  Value *sqrt(Value *x) { return b.intrinsic(llvm::Intrinsic::sqrt, {x}); }
  Value *sign(Value *size, Value *x) { return b.intrinsic(llvm::Intrinsic::copysign, {size, x}); }
  Value *select(Value *condition, Value *x, Value *y) { return ir.CreateSelect(condition, x, y); }
  Value *less(Value *x, double y) { return ir.CreateFCmpOLT(x, c(x, y)); }
  Value *more(Value *x, double y) { return ir.CreateFCmpOGT(x, c(x, y)); }
  Value *equal(Value *x, double y) { return ir.CreateFCmpOEQ(x, c(x, y)); }
  Value *nan(Value *like) { return c(like, __builtin_nan("")); }

  /// Returns 2^n and e^r - 1 for x = n ln 2 + r. Clamps x, so that the power stays finite; NaN
  /// propagates.
  std::pair<Value *, Value *> splitExp(Value *x, double perUnit, double least, double most) {
    x = select(more(x, most), c(x, most), x);
    x = select(less(x, least), c(x, least), x);
    Value *shift = c(x, 6755399441055744.0); // 1.5 · 2^52 leaves the integer in the low bits
    Value *shifted = b.multiplyAdd(x, c(x, perUnit), shift);
    Value *n = sub(shifted, shift);
    // Split the unit into two parts: the first has 32 bits, so that its products with n are exact.
    double high, low;
    if (perUnit == 1.0) {
      Value *r = mul(sub(x, n), c(x, 0.69314718055994531));
      return {powerOfTwo(shifted), mul(r, emitPolynomial(b, r, coefficients::expSlope))};
    }
    high = 0.693147180369123816490, low = 1.90821492927058770002e-10;
    Value *r = b.multiplyAdd(n, c(x, -high), x);
    r = b.multiplyAdd(n, c(x, -low), r);
    return {powerOfTwo(shifted), mul(r, emitPolynomial(b, r, coefficients::expSlope))};
  }
  Value *powerOfTwo(Value *shifted) {
    Value *raw = b.bits(shifted);
    Value *field = ir.CreateAdd(raw, b.integer(raw, 1023));
    return b.asFloat(ir.CreateShl(field, b.integer(raw, 52)));
  }
  Value *exp(Value *x) {
    auto [power, rest] = splitExp(x, 1.4426950408889634, -200, 200);
    return b.multiplyAdd(power, rest, power);
  }
  Value *exp2(Value *x) {
    auto [power, rest] = splitExp(x, 1.0, -300, 300);
    return b.multiplyAdd(power, rest, power);
  }
  Value *expm1(Value *x) {
    auto [power, rest] = splitExp(x, 1.4426950408889634, -200, 200);
    Value *result = b.multiplyAdd(power, rest, sub(power, c(x, 1.0)));
    return select(equal(x, 0.0), x, result); // keeps -0
  }

  /// The logarithm of a non-negative number. `x` comes from f32, so it is normal or zero.
  Value *log(Value *x) {
    Value *raw = b.bits(x);
    Value *away = ir.CreateSub(raw, b.integer(raw, 0x3FE6A09E667F3BCD));
    Value *n = ir.CreateAShr(away, b.integer(raw, 52));
    Value *f = sub(b.asFloat(ir.CreateSub(raw, ir.CreateShl(n, b.integer(n, 52)))), c(x, 1.0));
    // There is no 64-bit integer conversion before AVX-512: insert n into the low bits of 1.5 ·
    // 2^52.
    Value *magic = c(x, 6755399441055744.0);
    Value *whole = sub(b.asFloat(ir.CreateAdd(n, b.bits(magic))), magic);
    Value *result = mul(f, emitPolynomial(b, f, coefficients::logSlope));
    result = b.multiplyAdd(whole, c(x, 1.90821492927058770002e-10), result);
    result = b.multiplyAdd(whole, c(x, 0.693147180369123816490), result);
    result = select(equal(x, HUGE_VAL), x, result);
    result = select(equal(x, 0.0), c(x, -HUGE_VAL), result);
    return select(ir.CreateFCmpULT(x, c(x, 0.0)), nan(x), result); // below zero, or NaN
  }
  Value *log1p(Value *x) {
    Value *sum = add(x, c(x, 1.0));
    // The rounding error of the sum matters only near one.
    Value *lost = sub(x, sub(sum, c(x, 1.0)));
    Value *result = add(log(sum), lost);
    result = select(equal(x, HUGE_VAL), x, result);
    return select(equal(x, 0.0), x, result);
  }

  /// An angle |x| < 2^20 in units of π/2: the nearest integer, in the low bits of `quadrant`, and
  /// the remainder.
  struct Angle {
    Value *quadrant, *rest;
  };
  Angle angle(Value *x) {
    Value *shift = c(x, 6755399441055744.0);
    Value *shifted = b.multiplyAdd(x, c(x, 0.63661977236758134), shift);
    Value *n = sub(shifted, shift);
    // Subtract n · π/2, with π/2 split into parts of 33, 33 and 53 bits.
    Value *r = b.multiplyAdd(n, c(x, -1.57079632673412561417), x);
    r = b.multiplyAdd(n, c(x, -6.07710050630396597660e-11), r);
    r = b.multiplyAdd(n, c(x, -2.02226624879595063154e-21), r);
    return {b.bits(shifted), r};
  }
  /// The quadrant, and sine and cosine of the remainder.
  struct Turned {
    Value *quadrant, *sin, *cos;
  };
  Turned turn(Angle x) {
    Value *r = x.rest, *z = mul(r, r);
    Value *sin = b.multiplyAdd(mul(z, r), emitPolynomial(b, z, coefficients::sinTail), r);
    Value *cos = b.multiplyAdd(mul(z, z), emitPolynomial(b, z, coefficients::cosTail),
                               b.multiplyAdd(z, c(r, -0.5), c(r, 1.0)));
    return {x.quadrant, sin, cos};
  }
  Value *hasBit(Value *bits, int64_t bit) {
    return ir.CreateICmpNE(ir.CreateAnd(bits, b.integer(bits, bit)), b.integer(bits, 0));
  }
  Value *sinOf(Turned t, int64_t quarter) {
    Value *q = ir.CreateAdd(t.quadrant, b.integer(t.quadrant, quarter));
    Value *result = select(hasBit(q, 1), t.cos, t.sin);
    return select(hasBit(q, 2), ir.CreateFNeg(result), result);
  }
  /// tan(x): the quotient of the remainder's sine and cosine in even quadrants, its negated inverse
  /// in odd ones.
  Value *tanOf(Turned t) {
    Value *isOdd = hasBit(t.quadrant, 1);
    return div(select(isOdd, ir.CreateFNeg(t.cos), t.sin), select(isOdd, t.sin, t.cos));
  }

  /// The angle of the vector (x, y).
  Value *atan2(Value *y, Value *x) {
    Value *across = abs(x), *up = abs(y);
    Value *isSteep = ir.CreateFCmpOGT(up, across);
    Value *small = select(isSteep, across, up), *large = select(isSteep, up, across);
    // Use one division: of the ratio itself below tan(π/8), otherwise of the ratio rotated by π/4.
    Value *isMiddle = ir.CreateFCmpOGT(small, mul(large, c(x, 0.41421356237309505)));
    isMiddle = ir.CreateOr(isMiddle, equal(small, HUGE_VAL));
    Value *top = select(isMiddle, sub(small, large), small);
    Value *bottom = select(isMiddle, add(small, large), large);
    Value *t = div(top, bottom);
    // For inf / inf and 0 / 0, t would be NaN; the angle is π/4 or 0.
    t = select(equal(small, HUGE_VAL), c(x, 0.0), t);
    t = select(equal(large, 0.0), c(x, 0.0), t);
    Value *z = mul(t, t);
    Value *angle = b.multiplyAdd(mul(z, t), emitPolynomial(b, z, coefficients::atanTail), t);
    angle = add(angle, select(isMiddle, c(x, 0.78539816339744831), c(x, 0.0)));
    angle = select(isSteep, sub(c(x, 1.5707963267948966), angle), angle);
    Value *isLeft = ir.CreateICmpSLT(b.bits(x), b.integer(b.bits(x), 0));
    angle = select(isLeft, sub(c(x, 3.1415926535897931), angle), angle);
    angle = select(ir.CreateFCmpUNO(x, y), nan(x), angle);
    return sign(angle, y);
  }

  Value *cbrt(Value *x) {
    Value *size = abs(x);
    Value *raw = b.bits(size);
    // Divide the exponent by three; the constant makes the error symmetric, about 3 %.
    Value *high = ir.CreateLShr(raw, b.integer(raw, 32));
    Type *narrow = b.vectorOf(ir.getInt32Ty(), b.lanesOf(x));
    Value *third = ir.CreateUDiv(ir.CreateTrunc(high, narrow), llvm::ConstantInt::get(narrow, 3));
    third = ir.CreateAdd(third, llvm::ConstantInt::get(narrow, 715094163));
    Value *t = b.asFloat(ir.CreateShl(ir.CreateZExt(third, raw->getType()), b.integer(raw, 32)));
    for (int step = 0; step < 2; ++step) { // Halley's: digits triple
      Value *cube = mul(mul(t, t), t);
      t = mul(t, div(add(cube, add(size, size)), add(add(cube, cube), size)));
    }
    t = select(equal(size, 0.0), size, t);
    t = select(ir.CreateFCmpUEQ(size, c(x, HUGE_VAL)), size, t); // inf and NaN
    return sign(t, x);
  }

  Value *pow(Value *x, Value *y) {
    // The clamp in exp() preserves the NaN of 0 · inf; it affects only infinities.
    return powerEdges(x, y, exp(mul(y, log(abs(x)))));
  }
  /// x^y from |x|^y: the sign, and what infinities, zeros and NaN give.
  Value *powerEdges(Value *x, Value *y, Value *result) {
    Value *size = abs(x);
    Value *whole = b.intrinsic(llvm::Intrinsic::trunc, {y});
    Value *isWhole = ir.CreateFCmpOEQ(whole, y);
    Value *half = mul(y, c(y, 0.5));
    Value *isOdd =
        ir.CreateAnd(isWhole, ir.CreateFCmpONE(b.intrinsic(llvm::Intrinsic::trunc, {half}), half));
    Value *isBelow = ir.CreateICmpSLT(b.bits(x), b.integer(b.bits(x), 0));
    Value *minus = ir.CreateAnd(isBelow, isOdd);
    result = select(minus, ir.CreateFNeg(result), result);
    Value *isFinite = ir.CreateAnd(less(size, HUGE_VAL), more(size, 0.0));
    Value *hasNoRoot = ir.CreateAnd(ir.CreateAnd(isBelow, isFinite), ir.CreateNot(isWhole));
    Value *isInfinite = equal(abs(y), HUGE_VAL);
    hasNoRoot = ir.CreateAnd(hasNoRoot, ir.CreateNot(isInfinite));
    result = select(hasNoRoot, nan(x), result);
    result = select(ir.CreateAnd(equal(size, 1.0), isInfinite), c(x, 1.0), result);
    result = select(ir.CreateFCmpUNO(x, y), nan(x), result);
    return select(ir.CreateOr(equal(y, 0.0), equal(x, 1.0)), c(x, 1.0), result);
  }
};

/// The reduced angle of a finite f32 of any magnitude. Multiplies by as many bits of 2/π as matter.
Wide::Angle emitFarAngle(LaneBuilder &b, llvm::Value *x);
/// The reduced angle of any f32, for one lane.
Wide::Angle emitAngle(LaneBuilder &b, llvm::Value *x);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_MATHWIDE_H
