// Converts results back to an element type; templates, so that loops can inline them.
#ifndef TILEWRIGHT_NUMERICS_SCALAR_ROUNDING_H
#define TILEWRIGHT_NUMERICS_SCALAR_ROUNDING_H

#include "tilewright/numerics/FloatRounding.h"
#include "tilewright/numerics/WithType.h"
#include "tilewright/numerics/scalar/Scalar.h"

namespace tilewright::numerics {

/// The nearest value of a real type, ties to even.
template <ElementType type> double roundTo(double value) {
  if constexpr (type == ElementType::f64)
    return value;
  else if constexpr (type == ElementType::f32)
    return static_cast<float>(value);
  else
    return numerics::detail::decodeAs<type>(numerics::detail::encodeFrom<type>(value));
}

/// The low bits of `bits` as a value of an integer type or pred.
template <ElementType type> Scalar wrapTo(uint64_t bits) {
  constexpr unsigned unused = 64 - numerics::bitWidth(type);
  if constexpr (numerics::isSigned(type))
    return Scalar::ofSigned(static_cast<int64_t>(bits << unused) >> unused);
  else
    return Scalar::ofUnsigned(bits << unused >> unused);
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_SCALAR_ROUNDING_H
