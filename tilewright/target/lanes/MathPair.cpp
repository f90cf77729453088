#include "tilewright/target/lanes/MathPair.h"

#include <bit>

using namespace llvm;

namespace tilewright::lanes {

/// 1.5 · 2^52: added to a small number, it rounds to an integer and leaves it in the low bits.
static constexpr double magic = 6755399441055744.0;

Pairs::Scale Pairs::scaleOf(Value *size) {
  Value *field = ir.CreateAnd(ir.CreateLShr(b.bits(size), 52), 2047);
  field = b.intrinsic(Intrinsic::umin, {field, b.integer(field, 2045)});
  field = b.intrinsic(Intrinsic::umax, {field, b.integer(field, 1)});
  auto power = [&](Value *exponent) { return b.asFloat(ir.CreateShl(exponent, 52)); };
  return {power(ir.CreateSub(b.integer(field, 2046), field)), power(field),
          ir.CreateSub(field, b.integer(field, 1023))};
}

Value *Pairs::shiftOf(Value *n) {
  return b.asFloat(ir.CreateAdd(ir.getInt64(std::bit_cast<uint64_t>(magic)), n));
}

Value *Pairs::scaled(Value *x, Value *shifted) {
  Value *n = ir.CreateSub(b.bits(shifted), b.bits(c(x, magic)));
  Value *first = ir.CreateAShr(n, b.integer(n, 1));
  auto power = [&](Value *exponent) {
    Value *field = ir.CreateAdd(exponent, b.integer(exponent, 1023));
    return b.asFloat(ir.CreateShl(field, b.integer(field, 52)));
  };
  return mul(mul(x, power(first)), power(ir.CreateSub(n, first)));
}

Pairs::Power Pairs::power(Pair x) {
  Value *isFar = more(abs(x.hi), 800.0);
  x = pick(isFar, of(sign(c(x.hi, 800.0), x.hi)), x);
  Value *shift = c(x.hi, magic);
  Value *shifted = fma(x.hi, c(x.hi, 1.4426950408889634), shift);
  Value *n = sub(shifted, shift);
  // ln 2 in two parts, of which the first has 32 bits, so that its product with n is exact.
  Pair r = sum(x.hi, mul(n, c(n, -0x1.62e42feep-1)));
  r = plus(plus(r, product(n, c(n, -1.90821492927058770002e-10))),
           fma(n, c(n, -0x1.cc01f97b57a08p-87), x.lo));
  // The series of e^(r/32) - 1, in which r/32 is at most 0.011.
  Pair small = scaledBy(r, 0x1p-5);
  const double tail[] = {1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
  Pair half = constant(n, 0.5), sixth = inverse(n, 6);
  Pair rest = plus(small, times(square(small), series(small, {half, sixth}, tail)));
  // (1 + rest)² - 1, five times.
  for (int i = 0; i < 5; ++i)
    rest = plus(scaledBy(rest, 2.0), square(rest));
  return {shifted, n, rest};
}

Pair Pairs::exp(Pair x) {
  Power p = power(x);
  return scaled(mantissa(p), p.shifted);
}

Pair Pairs::expm1(Pair x) {
  Power p = power(x);
  // 2^n (1 + rest) - 1; for n = 0 that is rest, without cancellation.
  Pair large = plus(scaled(mantissa(p), p.shifted), c(p.n, -1.0));
  return pick(equal(p.n, 0.0), p.rest, large);
}

Pair Pairs::logNear(Pair x) {
  // 2 artanh(s) with s = x / (2 + x), which is at most 0.172.
  Pair s = over(x, plus(x, c(x.hi, 2.0)));
  Pair z = square(s);
  SmallVector<double> tail;
  for (int k = 6; k <= 16; ++k)
    tail.push_back(1.0 / (2 * k + 1));
  SmallVector<Pair> lead;
  for (int k = 1; k < 6; ++k)
    lead.push_back(inverse(x.hi, 2 * k + 1));
  return scaledBy(plus(s, times(s, times(z, series(z, lead, tail)))), 2.0);
}

/// n ln 2 + x.
static Pair withPowers(Pairs &p, Value *n, Pair x) {
  Pair powers = p.times(p.constant(n, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56), n);
  return p.plus(powers, x);
}

Pair Pairs::log(Pair x) {
  Value *isSmall = less(x.hi, 0x1p-1000);
  Pair inside = scaledBy(x, select(isSmall, c(x.hi, 0x1p100), c(x.hi, 1.0)));
  // The exponent of x / √½, so that the mantissa is near 1.
  Value *raw = b.bits(inside.hi);
  Value *away = ir.CreateSub(raw, b.integer(raw, 0x3FE6A09E667F3BCD));
  Value *whole = ir.CreateAShr(away, b.integer(raw, 52));
  Value *n = ir.CreateSIToFP(whole, x.hi->getType());
  Pair near = scaled(inside, shiftOf(ir.CreateNeg(whole)));
  Pair result = logNear(plus(near, c(n, -1.0)));
  result = withPowers(*this, select(isSmall, sub(n, c(n, 100.0)), n), result);
  result = pick(equal(x.hi, HUGE_VAL), x, result);
  result = pick(equal(x.hi, 0.0), constant(n, -HUGE_VAL), result);
  return pick(ir.CreateFCmpULT(x.hi, c(n, 0.0)), of(nan(n)), result);
}

Pair Pairs::log1p(Pair x) {
  Value *isNear = both(more(x.hi, -0.29), less(x.hi, 0.41));
  Pair near = logNear(pick(isNear, x, of(c(x.hi, 0.0))));
  return pick(isNear, near, log(plus(x, c(x.hi, 1.0))));
}

Pairs::Reduced Pairs::nearAngle(Value *x) {
  Value *shift = c(x, magic);
  Value *shifted = fma(x, c(x, 0.63661977236758134), shift);
  Value *n = sub(shifted, shift);
  // π/2 in parts of 33, 33, 53 and 53 bits; the products of n with the first two are exact.
  Pair r = sum(x, mul(n, c(n, -0x1.921fb544p+0)));
  r = plus(r, mul(n, c(n, -0x1.0b4611a6p-34)));
  r = plus(r, product(n, c(n, -0x1.3198a2e037073p-69)));
  r = plus(r, mul(n, c(n, -0x1.129024e088a68p-123)));
  return {b.bits(shifted), r};
}

Pairs::Reduced Pairs::farAngle(Value *x) {
  // |x| = m 2^e with m of 53 bits and e ≥ -33. Multiples of 4 in the product with 2/π do not
  // matter, so only the bits of 2/π with weight 2^(1 - e) and less are needed. 192 of these leave
  // an error of 2^-137; the smallest remainder of an f64 is near 2^-62.
  static constexpr uint64_t words[] = {0,
                                       0xA2F9836E4E441529,
                                       0xFC2757D1F534DDC0,
                                       0xDB6295993C439041,
                                       0xFE5163ABDEBBC561,
                                       0xB7246E3A424DD2E0,
                                       0x06492EEA09D1921C,
                                       0xFE1DEB1CB129A73E,
                                       0xE88235F52EBB4484,
                                       0xE99C7026B45F7E41,
                                       0x3991D639835339F4,
                                       0x9C845F8BBDF9283B,
                                       0x1FF897FFDE05980F,
                                       0xEF2F118B5A0A6D1F,
                                       0x6D367ECF27CB09B7,
                                       0x4F463F669E5FEA2D,
                                       0x7527BAC7EBE5F17B,
                                       0x3D0739F78A5292EA,
                                       0x6BFB5FB11F8D5D08,
                                       0x56033046FC7B6BAB};
  Type *word = ir.getInt64Ty(), *wide = ir.getInt128Ty(), *real = ir.getDoubleTy();
  Value *raw = b.bits(x);
  Value *field = ir.CreateAnd(ir.CreateLShr(raw, 52), 2047);
  Value *m = ir.CreateOr(ir.CreateAnd(raw, (uint64_t(1) << 52) - 1), b.i64(int64_t(1) << 52));
  // Word 0 is before the binary point. With e = field - 1075, the bit of weight 2^(1 - e) has the
  // number e + 62.
  Value *start = ir.CreateSub(field, b.i64(1013));
  Value *first = ir.CreateLShr(start, 6), *by = ir.CreateAnd(start, 63);
  Value *window[4];
  for (unsigned i = 0; i < 4; ++i) {
    window[i] = ir.getInt64(words[i]);
    for (unsigned at = 1; at + 3 < std::size(words); ++at)
      window[i] = select(ir.CreateICmpEQ(first, b.i64(at)), ir.getInt64(words[at + i]), window[i]);
  }
  auto aligned = [&](unsigned i) {
    return ir.CreateIntrinsic(word, Intrinsic::fshl, {window[i], window[i + 1], by});
  };
  auto high = [&](Value *y) { // of the product of 128 bits
    Value *all = ir.CreateMul(ir.CreateZExt(m, wide), ir.CreateZExt(y, wide));
    return ir.CreateTrunc(ir.CreateLShr(all, 64), word);
  };
  Value *high1 = aligned(1), *low = aligned(2);
  Value *above = high(low), *middle = ir.CreateAdd(ir.CreateMul(m, high1), above);
  Value *carry = ir.CreateZExt(ir.CreateICmpULT(middle, above), word);
  Value *top = ir.CreateAdd(ir.CreateAdd(ir.CreateMul(m, aligned(0)), high(high1)), carry);
  Value *bottom = ir.CreateMul(m, low);
  // A fixed-point number in units of π/2 with two integer bits. Round it to the nearest quadrant.
  Value *quadrant = ir.CreateLShr(ir.CreateAdd(top, b.i64(int64_t(1) << 61)), 62);
  top = ir.CreateSub(top, ir.CreateShl(quadrant, 62));
  // Each half of a word is exact in f64.
  auto half = [&](Value *bits, bool isSigned, double unit) {
    Value *value = isSigned ? ir.CreateSIToFP(bits, real) : ir.CreateUIToFP(bits, real);
    return mul(value, c(value, unit));
  };
  constexpr uint64_t mask = 0xFFFFFFFF;
  Pair turns = sum(half(ir.CreateAShr(top, 32), true, 0x1p-30),
                   half(ir.CreateAnd(top, mask), false, 0x1p-62));
  turns = plus(turns, half(ir.CreateLShr(middle, 32), false, 0x1p-94));
  turns = plus(turns, half(ir.CreateAnd(middle, mask), false, 0x1p-126));
  turns = plus(turns, half(ir.CreateLShr(bottom, 32), false, 0x1p-158));
  Pair angle = times(turns, constant(turns.hi, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54));
  Value *isBelow = isMinus(x);
  quadrant = select(isBelow, ir.CreateNeg(quadrant), quadrant);
  angle = negativeIf(isBelow, angle);
  return {quadrant, pick(ir.CreateICmpEQ(field, b.i64(2047)), of(nan(x)), angle)};
}

Pairs::Turn Pairs::turnOf(Reduced angle) {
  Pair r = angle.rest, z = square(r);
  Value *like = r.hi;
  // Series of sine and cosine in z = r², alternating, up to r^24 / 24!.
  auto of = [&](int first) {
    SmallVector<Pair> lead;
    SmallVector<double> tail;
    double factorial = 1; // of k, which f64 represents up to 18
    for (int k = 2; k <= first + 24; ++k) {
      factorial *= k;
      if (k < first + 2 || (k - first) % 2)
        continue;
      const bool isMinus = (k - first) % 4 == 2;
      if (k < first + 10) {
        Pair term = inverse(like, factorial);
        lead.push_back(isMinus ? negative(term) : term);
      } else {
        tail.push_back((isMinus ? -1 : 1) / factorial);
      }
    }
    return series(z, lead, tail);
  };
  Pair sin = plus(r, times(r, times(z, of(1))));
  Pair cos = plus(times(z, of(0)), c(like, 1.0));
  return {angle.quadrant, sin, cos};
}

Pairs::Turn Pairs::turn(Pair x) {
  Reduced near = nearAngle(x.hi);
  Type *real = x.hi->getType();
  AllocaInst *quadrant = b.slot(near.quadrant->getType());
  AllocaInst *hi = b.slot(real), *lo = b.slot(real);
  auto store = [&](Reduced angle) {
    ir.CreateStore(angle.quadrant, quadrant);
    ir.CreateStore(angle.rest.hi, hi);
    ir.CreateStore(angle.rest.lo, lo);
  };
  store(near);
  // A loop with at most one iteration serves as a branch. NaN stays; infinities become NaN.
  Value *isFar = more(abs(x.hi), 1048576.0);
  b.loop(ir.CreateZExt(isFar, ir.getInt64Ty()), [&](Value *) { store(farAngle(x.hi)); });
  Pair rest = {ir.CreateLoad(real, hi), ir.CreateLoad(real, lo)};
  return turnOf({ir.CreateLoad(near.quadrant->getType(), quadrant), plus(rest, x.lo)});
}

Pair Pairs::sin(const Turn &t, int64_t quarter) {
  Value *q = ir.CreateAdd(t.quadrant, b.integer(t.quadrant, quarter));
  return negativeIf(hasBit(q, 2), pick(hasBit(q, 1), t.cos, t.sin));
}

Pairs::Hyperbolic Pairs::hyperbolic(Pair x) {
  Power p = power(size(x));
  Pair rise = mantissa(p), one = constant(p.n, 1.0);
  Pair fall = over(one, rise);
  // e^-|x| = fall 2^-n; beside e^|x| it has the factor 2^-2n, which may underflow to zero.
  Pair low = scaled(scaled(fall, negatedShift(p)), negatedShift(p));
  Pair cosh = scaledBy(plus(rise, low), 0.5);
  // For n = 0, e^|x| - e^-|x| would cancel; rest + rest / (1 + rest) does not.
  Pair near = plus(p.rest, over(p.rest, rise));
  Pair sinh = scaledBy(pick(equal(p.n, 0.0), near, minus(rise, low)), 0.5);
  // For tiny numbers, the products would underflow, but sinh(x) is x.
  sinh = pick(less(abs(x.hi), 0x1p-500), size(x), sinh);
  return {p.shifted, negativeIf(isMinus(x.hi), sinh), cosh};
}

Value *Pairs::negatedShift(const Power &power) { return sub(c(power.n, magic), power.n); }

Pair Pairs::hypot(Value *x, Value *y) {
  Value *along = abs(x), *across = abs(y);
  Scale scale = scaleOf(select(ir.CreateFCmpOGT(along, across), along, across));
  Value *right = mul(along, scale.in), *up = mul(across, scale.in);
  Pair length = scaledBy(root(plus(product(right, right), product(up, up))), scale.out);
  return pick(either(isInf(x), isInf(y)), constant(x, HUGE_VAL), length);
}

Pair Pairs::atan2(Pair y, Pair x) {
  Value *across = abs(x.hi), *up = abs(y.hi);
  Value *most = select(ir.CreateFCmpOGT(across, up), across, up);
  Scale scale = scaleOf(most);
  Pair right = scaledBy(x, scale.in), high = scaledBy(y, scale.in);
  // The angle already has most of its digits; the sine of the difference gives the remaining ones.
  Value *guess = Wide::atan2(high.hi, right.hi);
  Turn t = turnOf(nearAngle(guess));
  Pair sin = sine(t), cos = cosine(t);
  Pair off = minus(times(high, cos), times(right, sin));
  Pair along = plus(times(right, cos), times(high, sin));
  Pair angle = plus(over(off, along), guess);
  // Small angles are ratios, and may be too small to be scaled.
  Value *isFlat =
      both(ir.CreateFCmpOLT(up, mul(across, c(up, 0x1p-35))), ir.CreateNot(isMinus(x.hi)));
  angle = pick(isFlat, over(y, x), angle);
  Value *isPlain = both(more(most, 0.0), less(most, HUGE_VAL));
  angle = pick(isPlain, angle, of(Wide::atan2(y.hi, x.hi)));
  return {sign(angle.hi, y.hi), angle.lo}; // keeps -0
}

} // namespace tilewright::lanes
