// Converts element types between memory and registers: pred and small integers by width, small
// floats by integer arithmetic on the f32 that represents them.
#include "tilewright/target/lanes/Lanes.h"

#include "tilewright/numerics/FloatFormat.h"

#include "llvm/IR/Intrinsics.h"

#include <cmath>

using namespace llvm;

namespace tilewright::lanes {

using numerics::ElementType;
using numerics::FloatFormat;
using numerics::NanEncoding;

static bool isSmallFloat(mlir::Type type) {
  return mlir::isa<mlir::FloatType>(type) && !type.isF32() && !type.isF64();
}

/// Rounds `bits` of an f32 to nearest even, to a multiple of 2^shift; the caller removes the low
/// bits.
static Value *roundBits(LaneBuilder &b, Value *bits, unsigned shift) {
  Value *odd = b.ir.CreateAnd(b.ir.CreateLShr(bits, b.integer(bits, shift)), b.integer(bits, 1));
  Value *half = b.ir.CreateAdd(odd, b.integer(bits, (int64_t(1) << (shift - 1)) - 1));
  return b.ir.CreateAdd(bits, half);
}

Value *LaneBuilder::decodeSmall(Value *stored, ElementType type) {
  FloatFormat format = numerics::formatOf(type);
  unsigned lanes = lanesOf(stored);
  Value *raw = ir.CreateZExtOrTrunc(stored, vectorOf(ir.getInt32Ty(), lanes));
  if (type == ElementType::tf32)
    return asFloat(ir.CreateAnd(raw, integer(raw, 0xFFFFE000)));
  if (type == ElementType::bf16)
    return asFloat(ir.CreateShl(raw, integer(raw, 16)));
  if (type == ElementType::f8E8M0FNU) {
    Value *normal = ir.CreateShl(raw, integer(raw, 23));
    Value *isLeast = ir.CreateICmpEQ(raw, integer(raw, 0));
    Value *isNan = ir.CreateICmpEQ(raw, integer(raw, 255));
    Value *value = ir.CreateSelect(isLeast, integer(raw, 0x00400000), normal);
    return asFloat(ir.CreateSelect(isNan, integer(raw, 0x7FC00000), value));
  }
  unsigned shift = 23 - format.mantissaBits;
  Value *magnitude = ir.CreateAnd(raw, integer(raw, format.magnitudeMask()));
  Value *sign = ir.CreateAnd(raw, integer(raw, format.signBit()));
  Value *signBit = ir.CreateShl(sign, integer(raw, 31 - (format.bits() - 1)));
  Value *shifted = ir.CreateShl(magnitude, integer(raw, shift));
  // If every bit pattern is a number, an f32 with these bits differs from the value only by the
  // exponent bias. The f32 may be subnormal, which a GPU multiplies at full speed.
  if (format.nan == NanEncoding::none && !format.hasInfinity && format.hasSign() &&
      machine.vectorBytes == 0) {
    Value *small = asFloat(ir.CreateOr(shifted, signBit));
    return ir.CreateFMul(small, real(small, std::ldexp(1.0, 127 - format.bias)));
  }
  Value *normal = ir.CreateAdd(shifted, integer(raw, int64_t(127 - format.bias) << 23));
  // A subnormal x is computed as (p + x) - p, where p is the power of two with the same spacing.
  Value *power = integer(raw, int64_t(127 + 1 - format.bias) << 23);
  Value *small = bits(ir.CreateFSub(asFloat(ir.CreateOr(power, shifted)), asFloat(power)));
  Value *isSmall = ir.CreateICmpULE(magnitude, integer(raw, format.mantissaMask()));
  Value *value = ir.CreateSelect(isSmall, small, normal);
  if (format.nan == NanEncoding::ieee) {
    Value *isSpecial = ir.CreateICmpUGE(magnitude, integer(raw, format.infinity()));
    value = ir.CreateSelect(isSpecial, ir.CreateOr(shifted, integer(raw, 0x7F800000)), value);
  } else if (format.nan == NanEncoding::allOnes) {
    Value *isNan = ir.CreateICmpEQ(magnitude, integer(raw, format.magnitudeMask()));
    value = ir.CreateSelect(isNan, integer(raw, 0x7FC00000), value);
  }
  value = ir.CreateOr(value, signBit);
  if (format.nan == NanEncoding::negativeZero)
    value = ir.CreateSelect(
        ir.CreateICmpEQ(ir.CreateOr(magnitude, sign), integer(raw, format.signBit())),
        integer(raw, 0xFFC00000), value);
  return asFloat(value);
}

Value *LaneBuilder::encodeSmall(Value *value, ElementType type) {
  FloatFormat format = numerics::formatOf(type);
  Value *raw = bits(value);
  Value *isNan = ir.CreateFCmpUNO(value, value);
  auto narrow = [&](Value *wide) {
    return ir.CreateTrunc(
        wide, vectorOf(ir.getIntNTy(unsigned(numerics::storageBytes(type)) * 8), lanesOf(value)));
  };
  if (type == ElementType::tf32) {
    Value *rounded = ir.CreateAnd(roundBits(*this, raw, 13), integer(raw, 0xFFFFE000));
    return ir.CreateSelect(isNan, integer(raw, 0x7FC00000), rounded);
  }
  unsigned shift = 23 - format.mantissaBits;
  Value *magnitude = ir.CreateAnd(raw, integer(raw, 0x7FFFFFFF));
  Value *sign = ir.CreateLShr(ir.CreateAnd(raw, integer(raw, int64_t(1) << 31)),
                              integer(raw, 31 - (format.bits() - 1)));
  Value *normal =
      ir.CreateSub(ir.CreateLShr(roundBits(*this, magnitude, shift), integer(raw, shift)),
                   integer(raw, int64_t(127 - format.bias) << format.mantissaBits));
  // Adding a power of two whose ulp is the spacing of the format's subnormals rounds to that
  // spacing.
  Value *power = integer(raw, int64_t(127 + 23 + format.minQuantum()) << 23);
  Value *small = ir.CreateSub(bits(ir.CreateFAdd(asFloat(magnitude), asFloat(power))), power);
  Value *isSmall = ir.CreateICmpULT(magnitude, integer(raw, int64_t(128 - format.bias) << 23));
  Value *result = ir.CreateSelect(isSmall, small, normal);
  Value *tooLarge = ir.CreateOr(ir.CreateICmpUGT(result, integer(raw, format.maxFinite())),
                                ir.CreateICmpUGE(magnitude, integer(raw, 0x7F800000)));
  result = ir.CreateSelect(tooLarge, integer(raw, format.overflow()), result);
  if (format.nan == NanEncoding::negativeZero) {
    // There is a single NaN, which also represents overflow, and there is no -0.
    Value *isPlain = ir.CreateICmpEQ(result, integer(raw, 0));
    Value *signedResult = ir.CreateOr(result, sign);
    result = ir.CreateSelect(isPlain, integer(raw, 0), signedResult);
    return narrow(ir.CreateSelect(isNan, integer(raw, format.signBit()), result));
  }
  result = ir.CreateSelect(isNan, integer(raw, format.quietNan()), result);
  // In a format without NaN, a negative NaN becomes +0 (see quietNan()).
  return narrow(ir.CreateXor(result, sign));
}

/// The exponent field, rounded up if the mantissa is at least half. Numbers that are not positive
/// become NaN; numbers below the smallest value become the smallest value.
Value *LaneBuilder::encodePowerOfTwo(Value *value) {
  Value *raw = bits(value);
  Value *field = ir.CreateLShr(ir.CreateAdd(raw, integer(raw, int64_t(1) << 22)), integer(raw, 23));
  // The smallest value, 2^-127, has field 0; as an f32 it is a subnormal.
  Value *isAbove = ir.CreateICmpUGE(raw, integer(raw, 0x00600000));
  Value *isSmall = ir.CreateICmpULT(raw, integer(raw, 0x00800000));
  field = ir.CreateSelect(isSmall, ir.CreateZExt(isAbove, raw->getType()), field);
  Value *isNumber = ir.CreateAnd(ir.CreateFCmpOGT(value, real(value, 0.0)),
                                 ir.CreateFCmpOLT(value, real(value, HUGE_VAL)));
  // Above 1.5 * 2^127 the field is 255, which encodes NaN. This is what the format requires.
  field = ir.CreateSelect(isNumber, field, integer(field, 255));
  return ir.CreateTrunc(field, vectorOf(ir.getInt8Ty(), lanesOf(value)));
}

Value *LaneBuilder::decode(Value *stored, mlir::Type type) {
  if (isSmallFloat(type)) {
    if (type.isF16() && machine.hasHalf) {
      Value *half = ir.CreateBitCast(stored, vectorOf(ir.getHalfTy(), lanesOf(stored)));
      return ir.CreateFPExt(half, vectorOf(ir.getFloatTy(), lanesOf(stored)));
    }
    return decodeSmall(stored, *elementTypeOf(type));
  }
  Type *compute = vectorOf(computeType(type), lanesOf(stored));
  if (type.isInteger(1))
    return ir.CreateICmpNE(stored, integer(stored, 0));
  return stored->getType() == compute ? stored : ir.CreateTrunc(stored, compute);
}

Value *LaneBuilder::encode(Value *value, mlir::Type type) {
  if (isSmallFloat(type)) {
    if (type.isF16() && machine.hasHalf) {
      Value *half = ir.CreateFPTrunc(value, vectorOf(ir.getHalfTy(), lanesOf(value)));
      return ir.CreateBitCast(half, vectorOf(ir.getInt16Ty(), lanesOf(value)));
    }
    // The value is already rounded to bf16, so take the upper half.
    if (type.isBF16()) {
      Value *raw = bits(value);
      return ir.CreateTrunc(ir.CreateLShr(raw, integer(raw, 16)),
                            vectorOf(ir.getInt16Ty(), lanesOf(value)));
    }
    if (Value *known = encodings.lookup({value, type}))
      return known;
    auto element = elementTypeOf(type);
    if (*element == ElementType::f8E8M0FNU && !machine.hasLibrary)
      return encodePowerOfTwo(value);
    // Rounding to powers of two is not performance-critical.
    if (*element == ElementType::f8E8M0FNU) {
      mlir::Type f32 = mlir::Float32Type::get(type.getContext());
      Value *raw = bits(scalarCall("convert", f32, type, {{value, nullptr}}).value);
      return ir.CreateTrunc(ir.CreateLShr(raw, integer(raw, 23)),
                            vectorOf(ir.getInt8Ty(), lanesOf(value)));
    } else {
      return encodeSmall(value, *element);
    }
  }
  Type *stored = vectorOf(storageType(type), lanesOf(value));
  return value->getType() == stored ? value : ir.CreateZExt(value, stored);
}

Value *LaneBuilder::round(Value *value, mlir::Type type) {
  if (!isSmallFloat(type))
    return value;
  if (type.isBF16() && machine.hasBfloat) {
    Type *narrow = vectorOf(ir.getBFloatTy(), lanesOf(value));
    return ir.CreateFPExt(ir.CreateFPTrunc(value, narrow), value->getType());
  }
  if (type.isBF16()) {
    // A bf16 is the upper half of an f32, so round in place. Setting the quiet bit keeps a NaN a
    // NaN if its payload is only in the lower half.
    Value *raw = bits(value);
    Value *rounded = ir.CreateAnd(roundBits(*this, raw, 16), integer(raw, 0xFFFF0000));
    Value *isNan = ir.CreateFCmpUNO(value, value);
    return asFloat(ir.CreateSelect(isNan, ir.CreateOr(raw, integer(raw, 0x00400000)), rounded));
  }
  Value *encoded = encode(value, type);
  Value *result = decode(encoded, type);
  encodings[{result, type}] = encoded;
  return result;
}

Value *LaneBuilder::integerToOdd(Value *value, bool isSigned) {
  Type *real = vectorOf(ir.getDoubleTy(), lanesOf(value));
  Value *zero = integer(value, 0);
  Value *isBelow = isSigned ? ir.CreateICmpSLT(value, zero) : nullptr;
  Value *size = isSigned ? ir.CreateSelect(isBelow, ir.CreateNeg(value), value) : value;
  // If the number is large, replace its last twelve bits by one sticky bit.
  Value *rest = ir.CreateAnd(size, integer(size, 4095));
  Value *sticky = ir.CreateZExt(ir.CreateICmpNE(rest, zero), size->getType());
  Value *high = ir.CreateOr(ir.CreateLShr(size, integer(size, 12)), sticky);
  Value *large = ir.CreateFMul(ir.CreateUIToFP(high, real), ConstantFP::get(real, 4096.0));
  Value *isLarge = ir.CreateICmpUGT(size, integer(size, (int64_t(1) << 53) - 1));
  Value *result = ir.CreateSelect(isLarge, large, ir.CreateUIToFP(size, real));
  return isSigned ? ir.CreateSelect(isBelow, ir.CreateFNeg(result), result) : result;
}

Value *LaneBuilder::roundToOdd(Value *value) {
  unsigned lanes = lanesOf(value);
  Value *nearest = ir.CreateFPTrunc(value, vectorOf(ir.getFloatTy(), lanes));
  Value *back = ir.CreateFPExt(nearest, value->getType());
  Value *raw = bits(nearest);
  Value *isInexact = ir.CreateFCmpONE(back, value);
  Value *isAbove =
      ir.CreateFCmpOGT(intrinsic(Intrinsic::fabs, {back}), intrinsic(Intrinsic::fabs, {value}));
  Value *below = ir.CreateSelect(isAbove, ir.CreateSub(raw, integer(raw, 1)), raw);
  return asFloat(ir.CreateSelect(isInexact, ir.CreateOr(below, integer(raw, 1)), raw));
}

Value *LaneBuilder::convertFloat(Value *value, mlir::Type from, mlir::Type to) {
  Type *compute = vectorOf(computeType(to), lanesOf(value));
  if (from.isF64() && !to.isF64())
    return to.isF32() ? ir.CreateFPTrunc(value, compute) : round(roundToOdd(value), to);
  if (to.isF64() && !from.isF64())
    return ir.CreateFPExt(value, compute);
  return round(value, to);
}

} // namespace tilewright::lanes
