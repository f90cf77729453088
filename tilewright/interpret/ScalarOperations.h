// The names of numerics/scalar/Operations.h, for the evaluator.
#ifndef TILEWRIGHT_INTERPRET_SCALAROPERATIONS_H
#define TILEWRIGHT_INTERPRET_SCALAROPERATIONS_H

#include "tilewright/interpret/Scalars.h"
#include "tilewright/numerics/scalar/Operations.h"

namespace tilewright::interpret {

using numerics::arityOf;
using numerics::nameOf;
using numerics::Operation;
using numerics::operationFor;
using numerics::resultTypeOf;
using numerics::ScalarOp;

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALAROPERATIONS_H
