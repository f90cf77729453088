// Functions of the C library for machines without one: a single lane, no tables in memory.
#include "tilewright/target/lanes/MathPair.h"

using namespace llvm;

namespace tilewright::lanes {

namespace {

/// Functions of f64, computed in f64. AloneTest.cpp tests their errors, and README.md lists them.
struct Double : Wide {
  /// e^x = 2^n (1 + r + r² P(r)); n is in the low bits of `shifted`.
  struct Power {
    Value *shifted, *n, *rest;
  };
  Power split(Value *x) {
    Value *shift = c(x, 6755399441055744.0);
    Value *shifted = b.multiplyAdd(x, c(x, 1.4426950408889634), shift);
    Value *n = sub(shifted, shift);
    Value *r = b.multiplyAdd(n, c(x, -0.693147180369123816490), x);
    r = b.multiplyAdd(n, c(x, -1.90821492927058770002e-10), r);
    Value *rest = b.multiplyAdd(mul(r, r), emitPolynomial(b, r, coefficients::expTail), r);
    return {shifted, n, rest};
  }
  Value *bounded(Value *x, double least, double most) {
    x = select(more(x, most), c(x, most), x);
    return select(less(x, least), c(x, least), x);
  }
  Value *exp(Value *x) {
    Power power = split(bounded(x, -746, 710));
    return scaled(add(power.rest, c(x, 1.0)), power.shifted);
  }
  /// x 2^n in two steps, so that subnormal results are rounded only once.
  Value *scaled(Value *x, Value *shifted) {
    Value *n = ir.CreateSub(b.bits(shifted), b.bits(c(x, 6755399441055744.0)));
    Value *first = ir.CreateAShr(n, b.integer(n, 1));
    auto power = [&](Value *exponent) {
      Value *field = ir.CreateAdd(exponent, b.integer(exponent, 1023));
      return b.asFloat(ir.CreateShl(field, b.integer(field, 52)));
    };
    return mul(mul(x, power(first)), power(ir.CreateSub(n, first)));
  }
  Value *exp2(Value *x) {
    Value *inside = bounded(x, -1080, 1025);
    Value *shift = c(x, 6755399441055744.0);
    Value *shifted = add(inside, shift);
    Value *r = mul(sub(inside, sub(shifted, shift)), c(x, 0.69314718055994531));
    Value *rest = b.multiplyAdd(mul(r, r), emitPolynomial(b, r, coefficients::expTail), r);
    return scaled(add(rest, c(x, 1.0)), shifted);
  }
  Value *expm1(Value *x) {
    Value *inside = bounded(x, -50, 710);
    Power power = split(inside);
    // 2^n - 1 is exact for |n| <= 53; beyond that, its rounding error is negligible.
    Value *low = bounded(power.n, -100, 100);
    Value *two = scaled(c(x, 1.0), add(low, c(x, 6755399441055744.0)));
    Value *result = b.multiplyAdd(two, power.rest, sub(two, c(x, 1.0)));
    result = select(more(inside, 60), exp(inside), result);
    return select(equal(x, 0.0), x, result);
  }

  /// log(x) for x = 2^n (1 + f): n, and log(1 + f) as f - half + rest.
  struct Logarithm {
    Value *n, *f, *half, *rest;
  };
  Logarithm splitLog(Value *x) {
    Value *isSmall = less(x, 0x1p-1022);
    Value *raw = b.bits(select(isSmall, mul(x, c(x, 0x1p54)), x));
    Value *away = ir.CreateSub(raw, b.integer(raw, 0x3FE6A09E667F3BCD));
    Value *whole = ir.CreateAShr(away, b.integer(raw, 52));
    Value *f =
        sub(b.asFloat(ir.CreateSub(raw, ir.CreateShl(whole, b.integer(raw, 52)))), c(x, 1.0));
    Value *n = ir.CreateSIToFP(whole, x->getType());
    n = select(isSmall, sub(n, c(x, 54.0)), n);
    // log(1 + f) = f - f²/2 + s (f²/2 + s² R(s²)) with s = f / (2 + f).
    Value *s = div(f, add(f, c(x, 2.0))), *z = mul(s, s);
    Value *half = mul(mul(f, f), c(x, 0.5));
    Value *rest = mul(s, add(half, mul(z, emitPolynomial(b, z, coefficients::logRatio))));
    return {n, f, half, rest};
  }
  Value *edges(Value *x, Value *result) {
    result = select(equal(x, HUGE_VAL), x, result);
    result = select(equal(x, 0.0), c(x, -HUGE_VAL), result);
    return select(ir.CreateFCmpULT(x, c(x, 0.0)), nan(x), result);
  }
  Value *log(Value *x) {
    Logarithm l = splitLog(x);
    Value *low = b.multiplyAdd(l.n, c(x, 1.90821492927058770002e-10), l.rest);
    Value *small = sub(l.f, sub(l.half, low));
    return edges(x, b.multiplyAdd(l.n, c(x, 0.693147180369123816490), small));
  }
  /// n · unit + log(1 + f) · perUnit, which is exact for powers of two in base two.
  Value *logOf(Value *x, double unit, double perUnit) {
    Logarithm l = splitLog(x);
    Value *small = mul(sub(l.f, sub(l.half, l.rest)), c(x, perUnit));
    return edges(x, b.multiplyAdd(l.n, c(x, unit), small));
  }
  Value *log1p(Value *x) {
    Value *sum = add(x, c(x, 1.0));
    Value *lost = sub(x, sub(sum, c(x, 1.0)));
    // `lost` is the rounding error of the sum. If the sum is large, part of 1 was lost, otherwise
    // part of x.
    lost = select(more(sum, 4.0), sub(c(x, 1.0), sub(sum, x)), lost);
    Value *result = add(log(sum), div(lost, sum));
    result = select(equal(x, HUGE_VAL), x, result);
    result = select(equal(x, -1.0), c(x, -HUGE_VAL), result);
    return select(equal(x, 0.0), x, result);
  }
  Value *tanh(Value *x) {
    Value *size = bounded(abs(x), 0, 40);
    // Small: -(e^-2x - 1) / (e^-2x + 1), which is accurate near zero. Large: 1 - 2 / (e^2x + 1).
    Value *isSmall = less(size, 0.5);
    Value *twice = add(size, size);
    Value *t = expm1(select(isSmall, ir.CreateFNeg(twice), twice));
    Value *below = add(t, c(x, 2.0));
    Value *large = sub(c(x, 1.0), div(c(x, 2.0), below));
    Value *result = select(isSmall, div(ir.CreateFNeg(t), below), large);
    return sign(result, x);
  }
  Value *cbrt(Value *x) {
    // Scale subnormal and huge numbers: Wide::cbrt() takes its initial guess from the exponent,
    // which only normal numbers have, and computes 2x, which must not overflow.
    Value *isSmall = less(abs(x), 0x1p-1022), *isLarge = more(abs(x), 0x1p1000);
    auto pick = [&](double small, double large) {
      return select(isSmall, c(x, small), select(isLarge, c(x, large), c(x, 1.0)));
    };
    Value *inside = mul(x, pick(0x1p54, 0x1p-54));
    Value *root = Wide::cbrt(inside);
    // One Newton step, with the residual of the cube computed with a single rounding.
    Value *square = mul(root, root);
    Value *low = b.multiplyAdd(root, root, ir.CreateFNeg(square));
    Value *rest = b.multiplyAdd(low, root, b.multiplyAdd(square, root, ir.CreateFNeg(inside)));
    Value *better = sub(root, div(rest, mul(square, c(x, 3.0))));
    Value *isPlain = ir.CreateAnd(more(abs(x), 0.0), less(abs(x), HUGE_VAL));
    return mul(select(isPlain, better, root), pick(0x1p-18, 0x1p18));
  }
};

/// Uses the smooth function (1 + 2|x|) e^(x²) erfc(|x|); the square of an f32 is exact in f64.
Value *erfcSingle(LaneBuilder &b, Value *single) {
  Wide w{b};
  Value *x = w.in(single), *size = w.abs(x);
  size = w.select(w.more(size, 11.0), w.c(x, 11.0), size);
  Value *t = w.div(w.sub(size, w.c(x, 3.75)), w.add(size, w.c(x, 3.75)));
  Value *smooth = w.div(emitPolynomial(b, t, coefficients::erfcScaled),
                        b.multiplyAdd(size, w.c(x, 2.0), w.c(x, 1.0)));
  Value *power = w.exp(b.ir.CreateFNeg(w.mul(size, size)));
  Value *result = w.mul(power, smooth);
  return w.out(w.select(w.less(x, 0.0), w.sub(w.c(x, 2.0), result), result));
}

} // namespace

Value *emitAlone(LaneBuilder &b, StringRef name, ArrayRef<Value *> x) {
  if (x[0]->getType()->isFloatTy() && name == "erfc")
    return erfcSingle(b, x[0]);
  Double d{{b}};
  if (x[0]->getType()->isDoubleTy()) {
    if (name == "exp")
      return d.exp(x[0]);
    if (name == "exp2")
      return d.exp2(x[0]);
    if (name == "expm1")
      return d.expm1(x[0]);
    if (name == "log")
      return d.log(x[0]);
    if (name == "log2")
      return d.logOf(x[0], 1.0, 1.4426950408889634);
    if (name == "log10")
      return d.logOf(x[0], 0.30102999566398120, 0.43429448190325182);
    if (name == "log1p")
      return d.log1p(x[0]);
    if (name == "tanh")
      return d.tanh(x[0]);
    if (name == "cbrt")
      return d.cbrt(x[0]);
    if (Value *result = emitByPairs(b, name, x))
      return result;
  }
  return b.refuse(x[0]->getType(), ("'" + name +
                                    "' of this type is not implemented for targets without a C "
                                    "library; compute it in f32, or on the CPU")
                                       .str());
}

Value *emitLongDivision(LaneBuilder &b, Value *x, Value *y) {
  IRBuilder<> &ir = b.ir;
  const bool isSingle = x->getType()->isFloatTy();
  const unsigned digits = isSingle ? 23 : 52, fieldBits = isSingle ? 8 : 11;
  // The number of quotient bits per step: a remainder is below 2^(digits + 1), so this many bits
  // can be shifted in without exceeding 64.
  const int64_t most = 63 - digits;
  Type *wide = ir.getInt64Ty();
  Value *left = b.intrinsic(Intrinsic::fabs, {x}), *right = b.intrinsic(Intrinsic::fabs, {y});
  struct Parts {
    Value *mantissa, *exponent;
  };
  auto parts = [&](Value *size) -> Parts {
    Value *raw = ir.CreateZExt(b.bits(size), wide);
    Value *field = ir.CreateLShr(raw, digits);
    Value *below = ir.CreateAnd(raw, (uint64_t(1) << digits) - 1);
    Value *isSmall = ir.CreateICmpEQ(field, b.i64(0));
    Value *mantissa =
        ir.CreateSelect(isSmall, below, ir.CreateOr(below, b.i64(int64_t(1) << digits)));
    return {mantissa, ir.CreateSelect(isSmall, b.i64(1), field)};
  };
  Parts over = parts(left), under = parts(right);
  // Avoid a division by zero; the result is set to NaN below.
  Value *divisor =
      ir.CreateSelect(ir.CreateICmpEQ(under.mantissa, b.i64(0)), b.i64(1), under.mantissa);
  AllocaInst *rest = b.slot(wide), *shift = b.slot(wide);
  ir.CreateStore(ir.CreateURem(over.mantissa, divisor), rest);
  Value *distance = ir.CreateSub(over.exponent, under.exponent);
  Value *isNear = ir.CreateICmpSLT(distance, b.i64(0));
  distance = ir.CreateSelect(isNear, b.i64(0), distance);
  ir.CreateStore(distance, shift);
  Value *steps = ir.CreateUDiv(ir.CreateAdd(distance, b.i64(most - 1)), b.i64(most));
  b.loop(steps, [&](Value *) {
    Value *todo = ir.CreateLoad(wide, shift);
    Value *now = b.intrinsic(Intrinsic::smin, {todo, b.i64(most)});
    Value *moved = ir.CreateShl(ir.CreateLoad(wide, rest), now);
    ir.CreateStore(ir.CreateURem(moved, divisor), rest);
    ir.CreateStore(ir.CreateSub(todo, now), shift);
  });
  // The remainder times the divisor's ulp, in two exact steps.
  Type *real = ir.getDoubleTy();
  Value *value = ir.CreateUIToFP(ir.CreateLoad(wide, rest), real);
  const int64_t bias = (int64_t(1) << (fieldBits - 1)) - 1;
  Value *place = ir.CreateSub(under.exponent, b.i64(bias + digits));
  Value *first = ir.CreateAShr(place, 1);
  auto power = [&](Value *exponent) {
    return ir.CreateBitCast(ir.CreateShl(ir.CreateAdd(exponent, b.i64(1023)), 52), real);
  };
  value = ir.CreateFMul(ir.CreateFMul(value, power(first)), power(ir.CreateSub(place, first)));
  if (isSingle)
    value = ir.CreateFPTrunc(value, x->getType());
  value = b.intrinsic(Intrinsic::copysign, {value, x});
  value = ir.CreateSelect(ir.CreateFCmpOLT(left, right), x, value);
  Value *isNan =
      ir.CreateOr(ir.CreateFCmpUNO(x, y), ir.CreateOr(ir.CreateFCmpOEQ(right, b.real(y, 0.0)),
                                                      ir.CreateFCmpOEQ(left, b.real(x, HUGE_VAL))));
  return ir.CreateSelect(isNan, b.real(x, __builtin_nan("")), value);
}

Wide::Angle emitFarAngle(LaneBuilder &b, Value *x) {
  IRBuilder<> &ir = b.ir;
  Type *word = ir.getInt32Ty(), *wide = ir.getInt64Ty();
  // |x| = m 2^e with m of 24 bits and e ≥ -3. Multiples of 4 in the product with 2/π do not matter,
  // so only the bits of 2/π with weight 2^(1 - e) and less are needed. 96 of these leave an error
  // of 2^-62; the smallest remainder of an f32 is near 2^-30.
  Value *raw = b.bits(x);
  Value *field = ir.CreateAnd(ir.CreateLShr(raw, 23), 255);
  Value *mantissa =
      ir.CreateZExt(ir.CreateOr(ir.CreateAnd(raw, 0x7FFFFF), b.integer(raw, 1 << 23)), wide);
  // Word 0 is before the binary point. With e = field - 150, the bit of weight 2^(1 - e) has number
  // e + 30.
  static constexpr uint32_t words[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                       0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
  Value *start = ir.CreateSub(field, b.integer(field, 120));
  Value *first = ir.CreateLShr(start, 5), *by = ir.CreateAnd(start, 31);
  Value *window[4];
  for (unsigned i = 0; i < 4; ++i) {
    window[i] = ir.getInt32(words[i]);
    for (unsigned at = 1; at + i < std::size(words); ++at)
      window[i] = ir.CreateSelect(ir.CreateICmpEQ(first, b.integer(first, at)),
                                  ir.getInt32(words[at + i]), window[i]);
  }
  auto aligned = [&](unsigned i) {
    Value *part = ir.CreateIntrinsic(word, Intrinsic::fshl, {window[i], window[i + 1], by});
    return ir.CreateZExt(part, wide);
  };
  Value *high = ir.CreateOr(ir.CreateShl(aligned(0), 32), aligned(1));
  Value *turns = ir.CreateAdd(ir.CreateMul(mantissa, high),
                              ir.CreateLShr(ir.CreateMul(mantissa, aligned(2)), 32));
  // `turns` is a fixed-point number in units of π/2 with two integer bits. Round it to the nearest
  // quadrant; the signed remainder is the reduced angle.
  Value *quadrant = ir.CreateLShr(ir.CreateAdd(turns, b.i64(int64_t(1) << 61)), 62);
  Value *rest = ir.CreateSub(turns, ir.CreateShl(quadrant, 62));
  Value *angle = ir.CreateFMul(ir.CreateSIToFP(rest, ir.getDoubleTy()),
                               ConstantFP::get(ir.getDoubleTy(), 0x1.921fb54442d18p+0 * 0x1p-62));
  Value *isBelow = ir.CreateICmpSLT(raw, b.integer(raw, 0));
  quadrant = ir.CreateSelect(isBelow, ir.CreateNeg(quadrant), quadrant);
  angle = ir.CreateSelect(isBelow, ir.CreateFNeg(angle), angle);
  Value *isInfinite = ir.CreateICmpEQ(field, b.integer(field, 255));
  return {quadrant, ir.CreateSelect(isInfinite, b.real(angle, __builtin_nan("")), angle)};
}

} // namespace tilewright::lanes
