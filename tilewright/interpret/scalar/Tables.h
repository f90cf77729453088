// One table per kind of element; Operations.cpp chooses between them.
#ifndef TILEWRIGHT_INTERPRET_SCALAR_TABLES_H
#define TILEWRIGHT_INTERPRET_SCALAR_TABLES_H

#include "tilewright/interpret/scalar/Operations.h"

namespace tilewright::interpret::detail {

/// Operations whose operands are all of `type`; null where there is none.
Operation realOperation(ScalarOp op, ElementType type);
Operation integerOperation(ScalarOp op, ElementType type);
Operation booleanOperation(ScalarOp op);
Operation complexOperation(ScalarOp op, ElementType type);

Operation conversion(ElementType from, ElementType to);
Operation bitsOf(ElementType type);
Operation elementOf(ElementType type);

} // namespace tilewright::interpret::detail

#endif // TILEWRIGHT_INTERPRET_SCALAR_TABLES_H
