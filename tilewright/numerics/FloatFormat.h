// The properties of StableHLO 1.20's float formats as one table. Conversion, block scaling and
// tests all read it.
#ifndef TILEWRIGHT_NUMERICS_FLOATFORMAT_H
#define TILEWRIGHT_NUMERICS_FLOATFORMAT_H

#include "tilewright/numerics/ElementType.h"

#include <cassert>

namespace tilewright::numerics {

/// Which bit patterns are NaNs.
enum class NanEncoding : uint8_t {
  ieee,         // exponent all ones, mantissa not zero
  allOnes,      // exponent and mantissa all ones, nothing else ("FN")
  negativeZero, // the pattern that would be -0, nothing else ("UZ")
  none,         // every pattern is a number
};

enum class ZeroEncoding : uint8_t { plusAndMinus, plusOnly, none };

/// One format. A value with a non-zero exponent field `e` and mantissa field
/// `m` is (-1)^s * 2^(e - bias) * (1 + m / 2^mantissaBits); with `e` = 0 it is
/// (-1)^s * 2^(1 - bias) * (m / 2^mantissaBits). f8E8M0FNU, which has neither
/// sign nor zero, uses the first rule for `e` = 0 as well.
struct FloatFormat {
  uint8_t exponentBits;
  uint8_t mantissaBits;
  int16_t bias;
  bool hasInfinity;
  NanEncoding nan;
  ZeroEncoding zero = ZeroEncoding::plusAndMinus;
  /// Unused low bits of the storage: tf32 takes the upper 19 bits of an f32. They are written as
  /// zero and ignored when read.
  uint8_t paddingBits = 0;

  constexpr bool hasSign() const { return zero != ZeroEncoding::none; }
  constexpr bool hasNan() const { return nan != NanEncoding::none; }
  constexpr bool hasSubnormals() const { return zero != ZeroEncoding::none; }
  /// Bits that carry information, without the padding.
  constexpr unsigned bits() const { return exponentBits + mantissaBits + (hasSign() ? 1 : 0); }

  // The patterns below do not include the padding.
  constexpr uint64_t magnitudeMask() const {
    return (uint64_t(1) << (exponentBits + mantissaBits)) - 1;
  }
  constexpr uint64_t signBit() const { return hasSign() ? magnitudeMask() + 1 : 0; }
  constexpr uint64_t mantissaMask() const { return (uint64_t(1) << mantissaBits) - 1; }
  /// Exponent all ones, mantissa zero. An infinity only if hasInfinity.
  constexpr uint64_t infinity() const { return magnitudeMask() & ~mantissaMask(); }
  /// The largest finite value.
  constexpr uint64_t maxFinite() const {
    return nan == NanEncoding::ieee      ? infinity() - 1
           : nan == NanEncoding::allOnes ? magnitudeMask() - 1
                                         : magnitudeMask();
  }
  /// The pattern of a positive NaN. In formats without NaN it is -0, as in ml_dtypes and XLA; a
  /// negative NaN has the opposite sign and becomes +0.
  constexpr uint64_t quietNan() const {
    return nan == NanEncoding::ieee      ? infinity() | ((mantissaMask() + 1) >> 1)
           : nan == NanEncoding::allOnes ? magnitudeMask()
                                         : signBit();
  }
  /// The result of rounding a finite value beyond maxFinite: infinity if the format has it,
  /// otherwise NaN if the format has it, otherwise maxFinite.
  constexpr uint64_t overflow() const {
    return hasInfinity ? infinity() : hasNan() ? quietNan() : maxFinite();
  }
  /// Binary exponent of the smallest normal value.
  constexpr int minExponent() const { return hasSubnormals() ? 1 - bias : -bias; }
  /// Binary exponent of the smallest positive value, which is the spacing of subnormals.
  constexpr int minQuantum() const { return minExponent() - mantissaBits; }
};

namespace detail {
constexpr FloatFormat floatFormat(ElementType type) {
  using enum NanEncoding;
  using Zero = ZeroEncoding;
  switch (type) {
    // clang-format off
  //                                       exponent mantissa bias infinity NaN
  case ElementType::f4E2M1FN:      return {       2,       1,    1, false, none};
  case ElementType::f6E2M3FN:      return {       2,       3,    1, false, none};
  case ElementType::f6E3M2FN:      return {       3,       2,    3, false, none};
  case ElementType::f8E3M4:        return {       3,       4,    3, true,  ieee};
  case ElementType::f8E4M3:        return {       4,       3,    7, true,  ieee};
  case ElementType::f8E4M3FN:      return {       4,       3,    7, false, allOnes};
  case ElementType::f8E4M3FNUZ:    return {       4,       3,    8, false, negativeZero, Zero::plusOnly};
  case ElementType::f8E4M3B11FNUZ: return {       4,       3,   11, false, negativeZero, Zero::plusOnly};
  case ElementType::f8E5M2:        return {       5,       2,   15, true,  ieee};
  case ElementType::f8E5M2FNUZ:    return {       5,       2,   16, false, negativeZero, Zero::plusOnly};
  case ElementType::f8E8M0FNU:     return {       8,       0,  127, false, allOnes, Zero::none};
  case ElementType::bf16:          return {       8,       7,  127, true,  ieee};
  case ElementType::f16:           return {       5,      10,   15, true,  ieee};
  case ElementType::tf32:          return {       8,      10,  127, true,  ieee, Zero::plusAndMinus, 13};
  case ElementType::f32:           return {       8,      23,  127, true,  ieee};
  case ElementType::f64:           return {      11,      52, 1023, true,  ieee};
  default:                         return {       0,       0,    0, false, none};
    // clang-format on
  }
}
} // namespace detail

/// The properties of a real type.
constexpr FloatFormat formatOf(ElementType type) {
  assert(isReal(type) && "only real types have a float format");
  return detail::floatFormat(type);
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_FLOATFORMAT_H
