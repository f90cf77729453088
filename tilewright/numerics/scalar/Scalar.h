// Scalar: one element of any type, in the widest form of its kind.
#ifndef TILEWRIGHT_NUMERICS_SCALAR_SCALAR_H
#define TILEWRIGHT_NUMERICS_SCALAR_SCALAR_H

#include "tilewright/numerics/ElementType.h"

#include <complex>
#include <cstddef>
#include <cstdint>

namespace tilewright::numerics {

/// One element without its type, which the user of the Scalar must know.
///
///   pred                 u is 0 or 1
///   signed integers      i, sign-extended
///   unsigned integers    u, zero-extended
///   reals                r, exact: every format up to f64 is a subset of double
///   complex              r and im
struct Scalar {
  union {
    int64_t i = 0;
    uint64_t u;
    double r;
  };
  double im = 0;

  static Scalar ofSigned(int64_t value) {
    Scalar scalar;
    scalar.i = value;
    return scalar;
  }
  static Scalar ofUnsigned(uint64_t value) {
    Scalar scalar;
    scalar.u = value;
    return scalar;
  }
  static Scalar ofReal(double value) {
    Scalar scalar;
    scalar.r = value;
    return scalar;
  }
  static Scalar ofComplex(std::complex<double> value) {
    Scalar scalar;
    scalar.r = value.real();
    scalar.im = value.imag();
    return scalar;
  }
  std::complex<double> complex() const { return {r, im}; }
};
static_assert(sizeof(Scalar) == 16);

/// The element at `data`, which need not be aligned.
Scalar loadScalar(ElementType type, const std::byte *data);
/// Writes storageBytes(type) bytes. Reals are rounded to nearest even; other values must be
/// representable in the type.
void storeScalar(ElementType type, std::byte *data, const Scalar &value);

/// Like loadScalar(), for `count` adjacent elements; much faster than element by element.
void loadScalars(ElementType type, const std::byte *data, int64_t count, Scalar *values);
void storeScalars(ElementType type, std::byte *data, int64_t count, const Scalar *values);

/// The elements of `type` nearest to zero and to one, the largest and the smallest (infinities
/// where the type has them).
Scalar zeroOf(ElementType type);
Scalar oneOf(ElementType type);
Scalar highestOf(ElementType type);
Scalar lowestOf(ElementType type);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_SCALAR_SCALAR_H
