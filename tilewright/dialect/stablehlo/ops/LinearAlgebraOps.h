// Products, solvers, transforms and normalizations.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_LINEARALGEBRAOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_LINEARALGEBRAOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_LINEARALGEBRAOPS_H
