// Converts single numbers between the bits of any real type and a double.
//
// A double holds every value of every format exactly, so decode() is exact and encode() rounds
// once. Nothing here depends on the machine's own f16 or bf16.
#ifndef TILEWRIGHT_NUMERICS_FLOAT_H
#define TILEWRIGHT_NUMERICS_FLOAT_H

#include "tilewright/numerics/FloatFormat.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::numerics {

/// The value of `bits` in a real type. Bits above the type's width and padding
/// are ignored. A NaN keeps its sign.
double decode(ElementType type, uint64_t bits);

/// Rounds to the nearest value of a real type, ties to even. Values that the format cannot
/// represent follow ml_dtypes. A value that is too large becomes infinity if the format has it,
/// otherwise NaN if the format has it, otherwise the largest finite value. NaN in a format without
/// NaN becomes -0. In f8E8M0FNU everything that is not positive becomes NaN, and positive values
/// below its smallest become its smallest.
uint64_t encode(ElementType type, double value);

/// Like encode(), but saturates: values whose magnitude exceeds the largest finite value, including
/// infinities, become that value, with their sign. NaN is treated as by encode().
uint64_t encodeSaturating(ElementType type, double value);

/// The nearest value of a real type to an integer, rounded once.
uint64_t encodeInteger(ElementType type, int64_t value);
uint64_t encodeUnsigned(ElementType type, uint64_t value);

/// Truncates toward zero to an integer of `bits` bits. Values beyond its range are clamped and NaN
/// becomes 0, as in XLA; StableHLO's `convert` leaves both cases undefined.
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

/// A double that rounds to the same value as `value` in every format of at most 51 bits of
/// precision: the last bit is made odd if bits were lost.
double roundToOdd(int64_t value);
double roundToOdd(uint64_t value);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_FLOAT_H
