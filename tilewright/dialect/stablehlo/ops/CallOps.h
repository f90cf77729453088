// composite, custom_call, and transfers to the host and to peers.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_OPS_CALLOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_OPS_CALLOPS_H

#include "tilewright/dialect/stablehlo/StablehloOpBase.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/stablehlo/ops/CallOps.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_OPS_CALLOPS_H
