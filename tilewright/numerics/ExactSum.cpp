#include "tilewright/numerics/ExactSum.h"

#include "tilewright/numerics/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilewright::numerics {
namespace {

/// A finite double as (-1)^negative * mantissa * 2^exponent with an integer mantissa.
struct Parts {
  explicit Parts(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto field = static_cast<int>(bits >> 52 & 0x7ff);
    negative = bits >> 63 != 0;
    mantissa = (bits & 0xfffffffffffff) | (field ? uint64_t(1) << 52 : 0);
    exponent = (field ? field : 1) - 1075;
  }
  uint64_t mantissa;
  int exponent;
  bool negative;
};

/// A natural number, least significant limb first.
template <size_t count> using Natural = std::array<uint64_t, count>;

template <size_t count> int bitLength(const Natural<count> &number) {
  for (size_t i = count; i > 0; --i)
    if (number[i - 1])
      return static_cast<int>(64 * i) - std::countl_zero(number[i - 1]);
  return 0;
}

template <size_t count> bool anyBitBelow(const Natural<count> &number, int bit) {
  for (int i = 0; i < bit / 64; ++i)
    if (number[static_cast<size_t>(i)])
      return true;
  return bit % 64 && (number[static_cast<size_t>(bit / 64)] << (64 - bit % 64)) != 0;
}

/// The number shifted right by `bit`; the result must fit 64 bits.
template <size_t count> uint64_t bitsFrom(const Natural<count> &number, int bit) {
  const auto limb = static_cast<size_t>(bit / 64);
  uint64_t result = limb < count ? number[limb] >> (bit % 64) : 0;
  if (bit % 64 && limb + 1 < count)
    result |= number[limb + 1] << (64 - bit % 64);
  return result;
}

} // namespace

void ExactSum::addProduct(double lhs, double rhs) {
  if (!std::isfinite(lhs) || !std::isfinite(rhs)) {
    notFinite += lhs * rhs;
    return;
  }
  const Parts left(lhs), right(rhs);
  addAt(left.exponent + right.exponent,
        static_cast<unsigned __int128>(left.mantissa) * right.mantissa,
        left.negative != right.negative);
}

void ExactSum::addAt(int exponent, unsigned __int128 magnitude, bool negative) {
  const int position = exponent - lowestExponent;
  const int offset = position % 64;
  auto limb = static_cast<size_t>(position / 64);
  // 106 bits at any offset span at most three limbs.
  const uint64_t pieces[3] = {static_cast<uint64_t>(magnitude << offset),
                              static_cast<uint64_t>((magnitude << offset) >> 64),
                              offset ? static_cast<uint64_t>(magnitude >> (128 - offset)) : 0};
  bool carry = false;
  for (size_t i = 0; limb < limbCount && (i < 3 || carry); ++i, ++limb) {
    const uint64_t piece = i < 3 ? pieces[i] : 0;
    uint64_t next;
    const bool first = negative ? __builtin_sub_overflow(limbs[limb], piece, &next)
                                : __builtin_add_overflow(limbs[limb], piece, &next);
    const bool second = negative ? __builtin_sub_overflow(next, uint64_t(carry), &limbs[limb])
                                 : __builtin_add_overflow(next, uint64_t(carry), &limbs[limb]);
    carry = first || second;
  }
}

uint64_t ExactSum::round(ElementType type, double factor) const {
  if (notFinite != 0 || !std::isfinite(factor))
    return encode(type, (notFinite != 0 ? notFinite : 1.0) * factor);

  // |sum * factor| as a natural number, in units of 2^unit.
  const bool sumIsNegative = limbs.back() >> 63;
  const Parts by(factor);
  Natural<limbCount + 1> number{};
  uint64_t carryOfNegation = 1;
  unsigned __int128 carry = 0;
  for (size_t i = 0; i < limbCount; ++i) {
    uint64_t limb = limbs[i];
    if (sumIsNegative) {
      limb = ~limb + carryOfNegation;
      carryOfNegation = carryOfNegation && limb == 0;
    }
    carry += static_cast<unsigned __int128>(limb) * by.mantissa;
    number[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  number[limbCount] = static_cast<uint64_t>(carry);
  const int unit = lowestExponent + by.exponent;
  const int length = bitLength(number);
  if (length == 0)
    return encode(type, 0.0);

  // Keep the bits that a double can hold. For f64 round to even here; for shorter types set the
  // last bit if any nonzero bit was dropped (round to odd), and let encode() round.
  const int keepFrom = std::max(length - 53, -1074 - unit);
  double magnitude;
  if (keepFrom <= 0) {
    magnitude = std::ldexp(static_cast<double>(number[0]), unit);
  } else {
    uint64_t kept = bitsFrom(number, keepFrom);
    if (type == ElementType::f64) {
      const bool half = bitsFrom(number, keepFrom - 1) & 1;
      kept += half && ((kept & 1) || anyBitBelow(number, keepFrom - 1));
    } else {
      kept |= anyBitBelow(number, keepFrom);
    }
    magnitude = std::ldexp(static_cast<double>(kept), unit + keepFrom);
  }
  return encode(type, sumIsNegative != by.negative ? -magnitude : magnitude);
}

} // namespace tilewright::numerics
