// Ops that take or return shapes as values.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_DYNAMICSHAPEOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_DYNAMICSHAPEOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_DYNAMICSHAPEOPS_H
