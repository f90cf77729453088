// Functions that the meanings of vector instructions use.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_ARITHMETIC_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_ARITHMETIC_H

#include "tilewright/numerics/Float.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::vgpu::amdgcn {

template <typename T>
inline constexpr numerics::FloatFormat formatOf =
    numerics::formatOf(sizeof(T) == 2   ? numerics::ElementType::f16
                       : sizeof(T) == 4 ? numerics::ElementType::f32
                                        : numerics::ElementType::f64);
template <typename T> int exponentOf(T value) { // as stored
  return static_cast<int>((bitsOf(value) & formatOf<T>.infinity()) >> formatOf<T>.mantissaBits);
}
template <typename T> u64 mantissaOf(T value) { return bitsOf(value) & formatOf<T>.mantissaMask(); }
template <typename T> bool isNegative(T value) { return bitsOf(value) >> (sizeof(T) * 8 - 1) != 0; }
template <typename T> bool isNan(T value) { return value != value; }
template <typename T> T quietNan() { return fromBits<T>(formatOf<T>.quietNan()); }
template <typename T> T infinity(bool negative) {
  return fromBits<T>(formatOf<T>.infinity() | (negative ? formatOf<T>.signBit() : 0));
}

/// The bit of v_cmp_class that a value sets: signalling NaN, quiet NaN, -infinity, -normal,
/// -denormal, -0, +0, +denormal, +normal, +infinity.
template <typename T> unsigned classOf(T value) {
  const u64 mantissa = mantissaOf(value);
  const int exponent = exponentOf(value), top = (1 << formatOf<T>.exponentBits) - 1;
  const bool negative = isNegative(value);
  if (exponent == top && mantissa != 0)
    return (mantissa >> (formatOf<T>.mantissaBits - 1) & 1) != 0 ? 1 : 0;
  if (exponent == top)
    return negative ? 2 : 9;
  if (exponent != 0)
    return negative ? 3 : 8;
  if (mantissa != 0)
    return negative ? 4 : 7;
  return negative ? 5 : 6;
}

/// minNum and maxNum: a number wins over a NaN, -0 is less than +0.
template <typename T> T minimum(T a, T b) {
  if (isNan(a))
    return b;
  if (isNan(b))
    return a;
  return a < b || (a == b && isNegative(a)) ? a : b;
}
template <typename T> T maximum(T a, T b) {
  if (isNan(a))
    return b;
  if (isNan(b))
    return a;
  return a > b || (a == b && !isNegative(a)) ? a : b;
}
/// The same, but a NaN wins over a number, as in minimum and maximum of IEEE 754-2019.
template <typename T> T nanMinimum(T a, T b) {
  return isNan(a) || isNan(b) ? T(a + b) : minimum(a, b);
}
template <typename T> T nanMaximum(T a, T b) {
  return isNan(a) || isNan(b) ? T(a + b) : maximum(a, b);
}
template <typename T> T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
template <typename T> T floatMedian(T a, T b, T c) {
  if (isNan(a) || isNan(b) || isNan(c))
    return minimum(minimum(a, b), c);
  const T most = maximum(maximum(a, b), c);
  return most == a ? maximum(b, c) : most == b ? maximum(a, c) : maximum(a, b);
}

/// Conversion to an integer: towards zero, saturated, NaN to 0.
template <typename To, typename From> To toInteger(From value) {
  constexpr unsigned bits = 8 * sizeof(To);
  if constexpr (std::numeric_limits<To>::is_signed)
    return static_cast<To>(numerics::truncateToSigned(static_cast<f64>(value), bits));
  else
    return static_cast<To>(numerics::truncateToUnsigned(static_cast<f64>(value), bits));
}

/// An exact result, saturated to an integer type.
template <typename To> To saturate(i64 value) {
  return static_cast<To>(
      std::clamp<i64>(value, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

/// The sum of an exact product and a third number, rounded to odd: a rounding to a narrower type
/// then gives the same as one rounding of the exact sum.
inline f64 addToOdd(f64 product, f64 c) {
  const f64 sum = product + c, part = sum - c;
  const f64 rest = (product - part) + (c - (sum - part));
  u64 bits = bitsOf(sum);
  if (rest != 0 && std::isfinite(sum) && (bits & 1) == 0)
    bits = (rest > 0) == (sum > 0) ? bits | 1 : bits - 1;
  return fromBits<f64>(bits);
}

/// Fused multiply-add: a * b + c, rounded once.
inline f16 fuse(f16 a, f16 b, f16 c) { return static_cast<f16>(addToOdd(f64(a) * f64(b), f64(c))); }
inline f32 fuse(f32 a, f32 b, f32 c) { return std::fma(a, b, c); }
inline f64 fuse(f64 a, f64 b, f64 c) { return std::fma(a, b, c); }

/// f32 to bf16, to the nearest, ties to even.
inline u16 toBfloat(f32 value) {
  const u32 bits = static_cast<u32>(bitsOf(value));
  if (isNan(value))
    return static_cast<u16>(bits >> 16 | 0x40);
  return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
/// f32 to f16 towards zero.
inline u16 toHalfTowardsZero(f32 value) {
  const f16 nearest = static_cast<f16>(value);
  u16 bits = static_cast<u16>(bitsOf(nearest));
  if (!isNan(value) && std::fabs(static_cast<f32>(nearest)) > std::fabs(value))
    --bits;
  return bits;
}

/// The steps of a division: the operand that is scaled, and whether the result must be unscaled.
template <typename T> WithMask<T> divScale(T a, T b, T c);
extern template WithMask<f32> divScale(f32, f32, f32);
extern template WithMask<f64> divScale(f64, f64, f64);
/// Repairs the quotient `a` of c / b in the special cases.
template <typename T> T divFixup(T a, T b, T c) {
  const bool negative = isNegative(b) != isNegative(c);
  const T inf = infinity<T>(false);
  if (isNan(c))
    return c;
  if (isNan(b))
    return b;
  const T absoluteB = b < 0 ? -b : b, absoluteC = c < 0 ? -c : c;
  if ((b == 0 && c == 0) || (absoluteB == inf && absoluteC == inf))
    return quietNan<T>();
  if (b == 0 || absoluteC == inf)
    return infinity<T>(negative);
  if (absoluteB == inf || c == 0)
    return negative ? T(-0.0) : T(0);
  // Below half of the smallest denormal, where the earlier steps may have overflowed.
  constexpr int least = formatOf<T>.bias + formatOf<T>.mantissaBits;
  if (exponentOf(c) - exponentOf(b) < -least)
    return negative ? T(-0.0) : T(0);
  if (isNan(a)) // the steps before overflowed
    return infinity<T>(negative);
  const T absolute = a < 0 ? -a : a;
  return negative ? -absolute : absolute;
}
/// The last step: a * b + c, unscaled if `vcc`. An f32 result is rounded only once, even if it is
/// denormal.
inline f32 divFmas(f32 a, f32 b, f32 c, bool vcc) {
  if (!vcc)
    return std::fma(a, b, c);
  return static_cast<f32>(
      std::ldexp(addToOdd(f64(a) * f64(b), f64(c)), exponentOf(c) > 127 ? 64 : -64));
}
inline f64 divFmas(f64 a, f64 b, f64 c, bool vcc) {
  const f64 sum = std::fma(a, b, c);
  return vcc ? (exponentOf(c) > 1023 ? std::ldexp(sum, 128) : std::ldexp(sum, -128)) : sum;
}

/// An element of an 8-bit format as f32, and back. A number beyond the largest finite one becomes
/// infinity, or NaN if the format has no infinity (MODE.FP16_OVFL = 0).
template <numerics::ElementType type> f32 fromByte(u32 byte) {
  return static_cast<f32>(numerics::decode(type, byte & 255));
}
template <numerics::ElementType type> u32 toByte(f32 value) {
  return static_cast<u32>(numerics::encode(type, value));
}
template <numerics::ElementType type> u64 fromBytePair(u32 bytes) {
  return bitsOf(fromByte<type>(bytes)) | bitsOf(fromByte<type>(bytes >> 8)) << 32;
}
template <numerics::ElementType type> u16 toBytePair(f32 a, f32 b) {
  return static_cast<u16>(toByte<type>(a) | toByte<type>(b) << 8);
}

/// The dot product of two vectors of `bits`-bit elements.
template <unsigned bits, bool isSigned> i64 dotProduct(u32 a, u32 b) {
  auto element = [](u32 dword, unsigned shift) -> i64 {
    const u32 top = dword << (32 - bits - shift);
    return isSigned ? i64(i32(top) >> (32 - bits)) : i64(top >> (32 - bits));
  };
  i64 sum = 0;
  for (unsigned shift = 0; shift < 32; shift += bits)
    sum += element(a, shift) * element(b, shift);
  return sum;
}
/// Adds two products, one after the other; each addition is rounded once.
inline f32 dotHalves(u32 a, u32 b, f32 c) {
  auto half = [](u32 bits) { return f32(fromBits<f16>(bits)); };
  return fuse(half(a >> 16), half(b >> 16), fuse(half(a & 0xffff), half(b & 0xffff), c));
}
inline f32 dotBfloats(u32 a, u32 b, f32 c) {
  auto half = [](u32 bits) { return fromBits<f32>(bits & 0xffff0000); };
  return fuse(half(a), half(b), fuse(half(a << 16), half(b << 16), c));
}

/// The sum of the absolute differences of bytes; with `skipsZero` only where a byte of `b` is not
/// 0.
inline u32 sumOfDifferences(u32 a, u32 b, u32 c, bool skipsZero) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const u32 x = a >> shift & 255, y = b >> shift & 255;
    if (!skipsZero || y != 0)
      c += x > y ? x - y : y - x;
  }
  return c;
}

inline u32 permuteBytes(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64(a) << 32 | b;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned code = selector >> (8 * i) & 255;
    u32 byte;
    if (code <= 7)
      byte = static_cast<u32>(bytes >> (8 * code) & 255);
    else if (code <= 11) // the sign of a word
      byte = (bytes >> (16 * (code - 8) + 15) & 1) != 0 ? 255 : 0;
    else
      byte = code == 12 ? 0 : 255;
    result |= byte << (8 * i);
  }
  return result;
}

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_ARITHMETIC_H
