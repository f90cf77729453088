// Enumerations and struct attributes of the dialect.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"

#include "tilewright/dialect/stablehlo/StablehloEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/stablehlo/StablehloAttrs.h.inc"

namespace tilewright::stablehlo {

/// Parses `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` as in `convolution`, without the attribute's
/// angle brackets.
mlir::ParseResult parseConvDimensions(mlir::AsmParser &parser, ConvDimensionNumbersAttr &attr);
void printConvDimensions(mlir::AsmPrinter &printer, ConvDimensionNumbersAttr attr);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOATTRS_H
