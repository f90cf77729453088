// Elementwise ops with two or three operands.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_BINARYOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_BINARYOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_BINARYOPS_H
