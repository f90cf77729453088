// All ops of the dialect. Prefer the header of a single group where it is enough: including all
// groups dominates the compile time of a file.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H

#include "tilewright/dialect/stablehlo/BinaryOps.h"
#include "tilewright/dialect/stablehlo/CallOps.h"
#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/IndexingOps.h"
#include "tilewright/dialect/stablehlo/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ReductionOps.h"
#include "tilewright/dialect/stablehlo/UnaryOps.h"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H
