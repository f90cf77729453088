// The dialect class alone. Include this to register or depend on the dialect;
// include the header of a group of ops to build or match them.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_H

#include "mlir/IR/Dialect.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h.inc"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLODIALECT_H
