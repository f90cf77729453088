// Reduce, map, sort and windows: tensors through a computation of scalars.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_H

#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ReductionOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_REDUCTIONOPS_H
