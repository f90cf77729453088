#include "tilewright/import/bytecode/Module.h"

namespace tilewright::bytecode {

using numerics::ElementType;

static std::optional<ElementType> integerType(const Type &type) {
  const bool isUnsigned = type.signedness == Signedness::unsignedInteger;
  if (type.signedness == Signedness::signedInteger || (isUnsigned && type.width == 1))
    return std::nullopt;
  switch (type.width) {
  case 1:
    return ElementType::pred;
  case 2:
    return isUnsigned ? ElementType::ui2 : ElementType::i2;
  case 4:
    return isUnsigned ? ElementType::ui4 : ElementType::i4;
  case 8:
    return isUnsigned ? ElementType::ui8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::ui16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::ui32 : ElementType::i32;
  case 64:
    return isUnsigned ? ElementType::ui64 : ElementType::i64;
  default:
    return std::nullopt;
  }
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
