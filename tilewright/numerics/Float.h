// One number at a time: bits of any real type to a double and back.
//
// A double holds every value of every format exactly, so decode() is exact and
// encode() rounds once. Nothing here depends on the machine's own f16 or bf16.
#ifndef TILEWRIGHT_NUMERICS_FLOAT_H
#define TILEWRIGHT_NUMERICS_FLOAT_H

#include "tilewright/numerics/FloatFormat.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::numerics {

/// The value of `bits` in a real type. Bits above the type's width and padding
/// are ignored. A NaN keeps its sign.
double decode(ElementType type, uint64_t bits);

/// The nearest value of a real type, ties to even. What the format cannot hold
/// follows ml_dtypes: too large becomes infinity, else NaN, else the largest
/// finite value; NaN in a format without one becomes -0; anything that is not
/// positive becomes NaN in f8E8M0FNU, and positive values below its smallest
/// become its smallest.
uint64_t encode(ElementType type, double value);

/// As encode(), but values beyond the largest finite one, infinities included,
/// become the largest finite one of their sign. NaN is treated as by encode().
uint64_t encodeSaturating(ElementType type, double value);

/// The nearest value of a real type to an integer, rounded once.
uint64_t encodeInteger(ElementType type, int64_t value);
uint64_t encodeUnsigned(ElementType type, uint64_t value);

/// Truncates toward zero to an integer of `bits` bits; values beyond its range
/// become its nearest end and NaN becomes 0, as XLA does where StableHLO's
/// `convert` leaves it open.
inline int64_t truncateToSigned(double value, unsigned bits) {
  const uint64_t half = uint64_t(1) << (bits - 1);
  // 2^(bits-1) is exact in a double; the largest integer below it may not be.
  const auto end = static_cast<double>(half);
  if (value >= end)
    return static_cast<int64_t>(half - 1);
  if (value <= -end)
    return -static_cast<int64_t>(half - 1) - 1;
  return value == value ? static_cast<int64_t>(value) : 0;
}
inline uint64_t truncateToUnsigned(double value, unsigned bits) {
  const double end = 2.0 * static_cast<double>(uint64_t(1) << (bits - 1));
  if (value >= end)
    return ~uint64_t(0) >> (64 - bits);
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

/// A double that rounds to the same value as `value` in every format of at most
/// 51 bits of precision: the last bit is made odd where bits were lost.
double roundToOdd(int64_t value);
double roundToOdd(uint64_t value);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_FLOAT_H
