// Constants, iota and random numbers.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_CREATIONOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_CREATIONOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/CreationOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_CREATIONOPS_H
