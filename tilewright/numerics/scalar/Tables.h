// One table of operations per kind of element; Operations.cpp selects the table.
#ifndef TILEWRIGHT_NUMERICS_SCALAR_TABLES_H
#define TILEWRIGHT_NUMERICS_SCALAR_TABLES_H

#include "tilewright/numerics/scalar/Operations.h"

namespace tilewright::numerics::detail {

/// Operations whose operands all have type `type`; null if `op` is not defined for it.
Operation realOperation(ScalarOp op, ElementType type);
Operation integerOperation(ScalarOp op, ElementType type);
Operation booleanOperation(ScalarOp op);
Operation complexOperation(ScalarOp op, ElementType type);

Operation conversion(ElementType from, ElementType to);
Operation bitsOf(ElementType type);
Operation elementOf(ElementType type);

} // namespace tilewright::numerics::detail

#endif // TILEWRIGHT_NUMERICS_SCALAR_TABLES_H
