#include "tilewright/numerics/ElementType.h"

namespace tilewright::numerics {

std::optional<ElementType> integerOfWidth(unsigned width, bool isUnsigned) {
  if (width == 1)
    return ElementType::pred;
  ElementKind kind = isUnsigned ? ElementKind::unsignedInteger : ElementKind::signedInteger;
  for (size_t i = 0; i < elementTypeCount; ++i) {
    ElementType type = static_cast<ElementType>(i);
    if (kindOf(type) == kind && bitWidth(type) == width)
      return type;
  }
  return std::nullopt;
}

ElementType unsignedOf(ElementType type) {
  return integerOfWidth(bitWidth(type), /*isUnsigned=*/true).value_or(ElementType::ui64);
}

std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (size_t i = 0; i < elementTypeCount; ++i)
    if (spelling(static_cast<ElementType>(i)) == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

} // namespace tilewright::numerics
