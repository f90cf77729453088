// Conversions between element types, and reinterpretation as bits.
#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/scalar/Rounding.h"
#include "tilewright/numerics/scalar/Tables.h"

#include <bit>

namespace tilewright::numerics::detail {

/// Converts an element of another kind to a real of type `to`.
template <ElementKind from, ElementType to> static double toReal(const Scalar &a) {
  if constexpr (from == ElementKind::real || from == ElementKind::complex)
    return roundTo<to>(a.r);
  else if constexpr (to == ElementType::f64)
    return from == ElementKind::signedInteger ? static_cast<double>(a.i) : static_cast<double>(a.u);
  else
    // Rounding to odd keeps a sticky bit for the digits that a double cannot represent, so that the
    // result is rounded only once.
    return roundTo<to>(from == ElementKind::signedInteger ? numerics::roundToOdd(a.i)
                                                          : numerics::roundToOdd(a.u));
}

template <ElementKind from, ElementType to>
static Scalar convert(const Scalar &a, const Scalar &, const Scalar &) {
  constexpr bool fromFloat = from == ElementKind::real || from == ElementKind::complex;
  if constexpr (to == ElementType::pred)
    // Only the real part of a complex number counts, as in conversions to other types.
    return Scalar::ofUnsigned(fromFloat ? a.r != 0 : a.u != 0);
  else if constexpr (numerics::isComplex(to))
    return Scalar::ofComplex(
        {toReal<from, numerics::componentOf(to)>(a),
         from == ElementKind::complex ? roundTo<numerics::componentOf(to)>(a.im) : 0});
  else if constexpr (numerics::isReal(to))
    return Scalar::ofReal(toReal<from, to>(a));
  else if constexpr (!fromFloat)
    return wrapTo<to>(a.u);
  else if constexpr (numerics::isSigned(to))
    return Scalar::ofSigned(numerics::truncateToSigned(a.r, numerics::bitWidth(to)));
  else
    return Scalar::ofUnsigned(numerics::truncateToUnsigned(a.r, numerics::bitWidth(to)));
}

Operation conversion(ElementType from, ElementType to) {
  return withType(to, [&]<ElementType target>() -> Operation {
    switch (numerics::kindOf(from)) {
    case ElementKind::boolean:
      return convert<ElementKind::boolean, target>;
    case ElementKind::signedInteger:
      return convert<ElementKind::signedInteger, target>;
    case ElementKind::unsignedInteger:
      return convert<ElementKind::unsignedInteger, target>;
    case ElementKind::real:
      return convert<ElementKind::real, target>;
    case ElementKind::complex:
      return convert<ElementKind::complex, target>;
    }
    return nullptr;
  });
}

template <ElementType type> static Scalar toBits(const Scalar &a, const Scalar &, const Scalar &) {
  if constexpr (type == ElementType::c64)
    return Scalar::ofUnsigned(uint64_t(std::bit_cast<uint32_t>(static_cast<float>(a.r))) |
                              uint64_t(std::bit_cast<uint32_t>(static_cast<float>(a.im))) << 32);
  else if constexpr (numerics::isReal(type))
    return Scalar::ofUnsigned(numerics::detail::encodeFrom<type>(a.r));
  else
    return Scalar::ofUnsigned(a.u & (~uint64_t(0) >> (64 - numerics::bitWidth(type))));
}

template <ElementType type>
static Scalar fromBits(const Scalar &a, const Scalar &, const Scalar &) {
  if constexpr (type == ElementType::c64)
    return Scalar::ofComplex({std::bit_cast<float>(static_cast<uint32_t>(a.u)),
                              std::bit_cast<float>(static_cast<uint32_t>(a.u >> 32))});
  else if constexpr (numerics::isReal(type))
    return Scalar::ofReal(numerics::detail::decodeAs<type>(a.u));
  else
    return wrapTo<type>(a.u);
}

Operation bitsOf(ElementType type) {
  return withType(type, []<ElementType element>() -> Operation {
    if constexpr (element == ElementType::c128)
      return nullptr;
    else
      return toBits<element>;
  });
}

Operation elementOf(ElementType type) {
  return withType(type, []<ElementType element>() -> Operation {
    if constexpr (element == ElementType::c128)
      return nullptr;
    else
      return fromBits<element>;
  });
}

} // namespace tilewright::numerics::detail
