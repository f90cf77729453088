// Elementwise ops with two or three operands.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/BinaryOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_BINARYOPS_H
