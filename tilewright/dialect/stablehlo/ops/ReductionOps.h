// Ops that apply a scalar computation, held in a region, to tensors: map, reduce, reduce_window,
// select_and_scatter and sort.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_REDUCTIONOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_REDUCTIONOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_REDUCTIONOPS_H
