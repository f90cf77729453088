// How results are brought back into an element type, as templates for loops.
#ifndef TILEWRIGHT_INTERPRET_SCALAR_ROUNDING_H
#define TILEWRIGHT_INTERPRET_SCALAR_ROUNDING_H

#include "tilewright/interpret/Scalar.h"
#include "tilewright/numerics/FloatRounding.h"

namespace tilewright::interpret {

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

/// Calls `function` with the type as a template argument:
///   withType(type, [&]<ElementType element>() { … });
template <typename Function> decltype(auto) withType(ElementType type, Function function) {
  switch (type) {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits)                                        \
  case ElementType::name:                                                                          \
    return function.template operator()<ElementType::name>();
#include "tilewright/numerics/ElementTypes.def"
  }
  __builtin_unreachable();
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALAR_ROUNDING_H
