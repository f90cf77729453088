// The names of numerics/scalar/Scalar.h, for the evaluator.
#ifndef TILEWRIGHT_INTERPRET_SCALARS_H
#define TILEWRIGHT_INTERPRET_SCALARS_H

#include "tilewright/numerics/scalar/Scalar.h"

namespace tilewright::interpret {

using numerics::ElementKind;
using numerics::ElementType;
using numerics::highestOf;
using numerics::loadScalar;
using numerics::loadScalars;
using numerics::lowestOf;
using numerics::oneOf;
using numerics::Scalar;
using numerics::storeScalar;
using numerics::storeScalars;
using numerics::zeroOf;

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_SCALARS_H
