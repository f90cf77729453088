// Collective ops, which all processes of a group execute together.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_H

#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/CollectiveOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_COLLECTIVEOPS_H
