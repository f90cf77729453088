// Slices, gather and scatter at computed positions.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_H

#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/IndexingOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_INDEXINGOPS_H
