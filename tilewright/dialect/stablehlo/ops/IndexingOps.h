// Slices, gather and scatter at computed positions.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_INDEXINGOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_INDEXINGOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_INDEXINGOPS_H
