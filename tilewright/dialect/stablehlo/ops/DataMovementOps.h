// Ops that move elements to positions known at compile time.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_DATAMOVEMENTOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_DATAMOVEMENTOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_DATAMOVEMENTOPS_H
