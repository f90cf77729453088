// All ops of the dialect. Prefer the header of a single group where it is enough: including all
// groups dominates the compile time of a file.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPS_H
