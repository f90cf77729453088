// Calls a function template with an element type that is known only at run time.
#ifndef TILEWRIGHT_NUMERICS_WITHTYPE_H
#define TILEWRIGHT_NUMERICS_WITHTYPE_H

#include "tilewright/numerics/ElementType.h"

#include <cassert>

namespace tilewright::numerics {

/// Calls `function` with the type as a template argument:
///   withType(type, [&]<ElementType element>() { … });
template <typename Function>
constexpr decltype(auto) withType(ElementType type, Function function) {
  switch (type) {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits)                                        \
  case ElementType::name:                                                                          \
    return function.template operator()<ElementType::name>();
#include "tilewright/numerics/ElementTypes.def"
  }
  __builtin_unreachable();
}

/// Like withType(), but only for the types that `accepts` accepts; `function` is instantiated only
/// for these. Calls it with `otherwise` if the type is not one of them, which is an error of the
/// caller.
template <auto accepts, ElementType otherwise, typename Function>
constexpr decltype(auto) withTypeIf(ElementType type, Function function) {
  switch (type) {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits)                                        \
  case ElementType::name:                                                                          \
    if constexpr (accepts(ElementType::name))                                                      \
      return function.template operator()<ElementType::name>();                                    \
    break;
#include "tilewright/numerics/ElementTypes.def"
  }
  assert(false && "unexpected kind of element type");
  return function.template operator()<otherwise>();
}

/// Like withType(), but only for real types.
template <typename Function>
constexpr decltype(auto) withReal(ElementType type, Function function) {
  return withTypeIf<isReal, ElementType::f64>(type, function);
}

/// Like withType(), but only for integer types and pred.
template <typename Function>
constexpr decltype(auto) withInteger(ElementType type, Function function) {
  constexpr auto isIntegerOrPred = [](ElementType any) {
    return isInteger(any) || any == ElementType::pred;
  };
  return withTypeIf<isIntegerOrPred, ElementType::i64>(type, function);
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_WITHTYPE_H
