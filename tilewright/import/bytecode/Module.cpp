#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

using numerics::ElementType;

static std::optional<ElementType> integerType(const Type &type) {
  const bool isUnsigned = type.signedness == Signedness::unsignedInteger;
  if (type.signedness == Signedness::signedInteger || (isUnsigned && type.width == 1))
    return std::nullopt;
  return numerics::integerOfWidth(type.width, isUnsigned);
}

std::optional<ElementType> elementTypeOf(const Module &module, TypeId id) {
  const Type &type = module.types[id];
  switch (type.kind) {
  case TypeKind::integer:
    return integerType(type);
  case TypeKind::real:
    return type.element;
  case TypeKind::complex:
    return module.types[type.inner].element == ElementType::f64 ? ElementType::c128
                                                                : ElementType::c64;
  default:
    return std::nullopt;
  }
}

} // namespace tilewright::bytecode
