// Elementwise ops with one operand.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_UNARYOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_UNARYOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_UNARYOPS_H
