// Functions of f32, computed in f32.
#include "tilewright/target/lanes/MathCoefficients.h"
#include "tilewright/target/lanes/MathFunctions.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace tilewright::lanes {

Value *emitPolynomial(LaneBuilder &b, Value *x, ArrayRef<double> c) {
  Value *result = b.real(x, c.back());
  for (double coefficient : reverse(c.drop_back()))
    result = b.multiplyAdd(result, x, b.real(x, coefficient));
  return result;
}

/// x clamped to [low, high]; NaN propagates.
static Value *clamp(LaneBuilder &b, Value *x, double low, double high) {
  Value *least = b.real(x, low), *most = b.real(x, high);
  x = b.ir.CreateSelect(b.ir.CreateFCmpOGT(x, most), most, x);
  return b.ir.CreateSelect(b.ir.CreateFCmpOLT(x, least), least, x);
}

/// p · 2^n with vscalefps, register by register; null if the machine has no such instruction for
/// this number of lanes. `n` is an integer.
static Value *scaleAtOnce(LaneBuilder &b, Value *p, Value *n) {
  const unsigned lanes = b.lanesOf(p), step = std::min(lanes, 16u);
  const bool isAvx512 = b.machine.hasMasks && b.machine.vectorBytes == 64;
  if (!isAvx512 || step < 4 || lanes % step || !isPowerOf2_32(step))
    return nullptr;
  const Intrinsic::ID scale = step == 16  ? Intrinsic::x86_avx512_mask_scalef_ps_512
                              : step == 8 ? Intrinsic::x86_avx512_mask_scalef_ps_256
                                          : Intrinsic::x86_avx512_mask_scalef_ps_128;
  constexpr unsigned currentRounding = 4;
  Value *result = PoisonValue::get(p->getType());
  for (unsigned first = 0; first < lanes; first += step) {
    Value *part = b.slice({p}, first, step).value, *power = b.slice({n}, first, step).value;
    SmallVector<Value *> operands = {part, power, part};
    if (step == 16)
      operands.append({b.ir.getInt16(0xffff), b.ir.getInt32(currentRounding)});
    else
      operands.push_back(b.ir.getInt8(0xff));
    Value *scaled = b.ir.CreateIntrinsic(scale, operands);
    result = lanes == step ? scaled : b.ir.CreateInsertVector(p->getType(), result, scaled, first);
  }
  return result;
}

/// p · 2^n, where the bits of `shifted` are those of 1.5 · 2^23 plus n. Scaling in two steps rounds
/// subnormal results only once.
static Value *scaleInTwoSteps(LaneBuilder &b, Value *p, Value *shifted) {
  IRBuilder<> &ir = b.ir;
  Value *power = ir.CreateSub(b.bits(shifted), b.integer(b.bits(shifted), 0x4B400000));
  Value *first = ir.CreateAShr(power, b.integer(power, 1));
  auto scale = [&](Value *exponent) {
    Value *field = ir.CreateAdd(exponent, b.integer(exponent, 127));
    return b.asFloat(ir.CreateShl(field, b.integer(field, 23)));
  };
  return ir.CreateFMul(ir.CreateFMul(p, scale(first)), scale(ir.CreateSub(power, first)));
}

/// e^x = 2^n e^r with |r| ≤ ln(2) / 2. Adding 1.5 · 2^23 rounds to an integer and leaves it in the
/// low bits.
Value *expSingle(LaneBuilder &b, Value *x) {
  IRBuilder<> &ir = b.ir;
  x = clamp(b, x, -104.0, 89.0);
  Value *shift = b.real(x, 12582912.0);
  Value *shifted = b.multiplyAdd(x, b.real(x, 1.44269504088896341), shift);
  Value *n = ir.CreateFSub(shifted, shift);
  // ln 2 is split into two parts; the first has 15 bits, so that its product with n is exact.
  Value *r = b.multiplyAdd(n, b.real(x, -0.693145751953125), x);
  r = b.multiplyAdd(n, b.real(x, -1.42860682030941723e-6), r);
  Value *p = emitPolynomial(b, r, coefficients::expTailSingle);
  p = b.multiplyAdd(ir.CreateFMul(r, r), p, r);
  p = ir.CreateFAdd(p, b.real(x, 1.0));
  Value *scaled = scaleAtOnce(b, p, n);
  return scaled ? scaled : scaleInTwoSteps(b, p, shifted);
}

/// x = 2^n (1 + f) with 1 + f between √½ and √2.
Value *logSingle(LaneBuilder &b, Value *x) {
  IRBuilder<> &ir = b.ir;
  // Normalize subnormals first.
  Value *isSmall = ir.CreateFCmpOLT(x, b.real(x, 0x1p-126));
  Value *scaled = ir.CreateSelect(isSmall, ir.CreateFMul(x, b.real(x, 0x1p25)), x);
  Value *raw = b.bits(scaled);
  // Take the exponent of x / √½, so that the mantissa is near 1.
  Value *away = ir.CreateSub(raw, b.integer(raw, 0x3F3504F3));
  Value *n = ir.CreateAShr(away, b.integer(raw, 23));
  Value *mantissa = b.asFloat(ir.CreateSub(raw, ir.CreateShl(n, b.integer(n, 23))));
  Value *f = ir.CreateFSub(mantissa, b.real(x, 1.0));
  Value *whole = ir.CreateSIToFP(n, x->getType());
  whole = ir.CreateSelect(isSmall, ir.CreateFSub(whole, b.real(x, 25.0)), whole);
  Value *square = ir.CreateFMul(f, f);
  Value *tail =
      ir.CreateFMul(ir.CreateFMul(square, f), emitPolynomial(b, f, coefficients::logTailSingle));
  // Add the smallest terms first: the low part of n ln 2, the tail, -f²/2, f, the high part.
  Value *sum = b.multiplyAdd(whole, b.real(x, -2.12194440e-4), tail);
  sum = b.multiplyAdd(square, b.real(x, -0.5), sum);
  sum = ir.CreateFAdd(f, sum);
  sum = b.multiplyAdd(whole, b.real(x, 0.693359375), sum);
  // log(0) = -inf, log(inf) = inf, NaN below zero.
  Value *infinity = b.real(x, HUGE_VAL);
  Value *isPositive = ir.CreateFCmpOGT(x, b.real(x, 0.0));
  Value *isInfinite = ir.CreateFCmpOEQ(x, infinity);
  Value *isZero = ir.CreateFCmpOEQ(x, b.real(x, 0.0));
  sum = ir.CreateSelect(isPositive, sum, b.real(x, __builtin_nan("")));
  sum = ir.CreateSelect(isInfinite, infinity, sum);
  return ir.CreateSelect(isZero, b.real(x, -HUGE_VAL), sum);
}

/// Near zero: x + x³ P(x²). Elsewhere: 1 - 2 / (e^2|x| + 1).
Value *tanhSingle(LaneBuilder &b, Value *x) {
  IRBuilder<> &ir = b.ir;
  Value *size = b.intrinsic(Intrinsic::fabs, {x});
  Value *square = ir.CreateFMul(x, x);
  Value *small = b.multiplyAdd(ir.CreateFMul(square, x),
                               emitPolynomial(b, square, coefficients::tanhTailSingle), x);
  Value *power = expSingle(b, ir.CreateFAdd(size, size));
  Value *quotient = ir.CreateFDiv(b.real(x, 2.0), ir.CreateFAdd(power, b.real(x, 1.0)));
  Value *large = ir.CreateFSub(b.real(x, 1.0), quotient);
  Value *result = ir.CreateSelect(ir.CreateFCmpOLT(size, b.real(x, 0.625)), small, large);
  return b.intrinsic(Intrinsic::copysign, {result, x}); // keeps -0
}

/// Near zero: x + x P(x²). Elsewhere: 1 - e^(-|x| Q(|x|)), where Q is -log(erfc(x)) / x.
Value *erfSingle(LaneBuilder &b, Value *x) {
  IRBuilder<> &ir = b.ir;
  Value *size = b.intrinsic(Intrinsic::fabs, {x});
  Value *square = ir.CreateFMul(x, x);
  Value *small = b.multiplyAdd(emitPolynomial(b, square, coefficients::erfSlopeSingle), x, x);
  // Above 4 the result is 1; the polynomial is not valid there.
  Value *most = b.real(x, 4.0);
  Value *bounded = ir.CreateSelect(ir.CreateFCmpOGT(size, most), most, size);
  Value *rate = emitPolynomial(b, bounded, coefficients::erfRateSingle);
  Value *power = expSingle(b, ir.CreateFNeg(ir.CreateFMul(bounded, rate)));
  Value *large = ir.CreateFSub(b.real(x, 1.0), power);
  large = b.intrinsic(Intrinsic::copysign, {large, x});
  return ir.CreateSelect(ir.CreateFCmpOLT(size, b.real(x, 0.921875)), small, large);
}

} // namespace tilewright::lanes
