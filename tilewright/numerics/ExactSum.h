// A sum without rounding: the reference for every dot product and reduction.
#ifndef TILEWRIGHT_NUMERICS_EXACTSUM_H
#define TILEWRIGHT_NUMERICS_EXACTSUM_H

#include "tilewright/numerics/ElementType.h"

#include <array>
#include <cstdint>

namespace tilewright::numerics {

/// Adds doubles and products of two doubles exactly, in any order, and rounds once at the end. It
/// is a Kulisch accumulator: one long fixed-point number that covers every product of two doubles,
/// with room for 2^127 of them.
///
///   ExactSum sum;
///   for (size_t k = 0; k < n; ++k)
///     sum.addProduct(lhs[k], rhs[k]);
///   uint64_t bits = sum.round(ElementType::bf16);
///
/// NaN and infinities are tracked separately and follow IEEE 754; an exact zero rounds to +0.
class ExactSum {
public:
  void add(double value) { addProduct(value, 1); }
  void addProduct(double lhs, double rhs);

  /// The bits of `factor` times the sum in a real type, rounded once as by encode().
  uint64_t round(ElementType type, double factor = 1) const;

private:
  void addAt(int exponent, unsigned __int128 magnitude, bool negative);

  static constexpr size_t limbCount = 68;
  static constexpr int lowestExponent = -34 * 64; // below the square of the smallest double

  // Two's complement, least significant limb first, in units of 2^lowestExponent.
  std::array<uint64_t, limbCount> limbs{};
  double notFinite = 0; // the sum of the infinities and NaNs, or 0
};

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_EXACTSUM_H
