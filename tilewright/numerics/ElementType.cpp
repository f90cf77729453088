#include "tilewright/numerics/ElementType.h"

namespace tilewright::numerics {

std::optional<ElementType> elementTypeNamed(std::string_view name) {
  for (size_t i = 0; i < elementTypeCount; ++i)
    if (spelling(static_cast<ElementType>(i)) == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

} // namespace tilewright::numerics
