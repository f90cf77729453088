// The sm dialect: kernels whose tiles have layouts.
#ifndef TILEWRIGHT_DIALECT_SM_SMDIALECT_H
#define TILEWRIGHT_DIALECT_SM_SMDIALECT_H

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/dialect/sm/ViewMap.h"
#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilewright/dialect/sm/SmDialect.h.inc"

#include "tilewright/dialect/sm/SmEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/sm/SmAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tilewright/dialect/sm/SmTypes.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/sm/SmOps.h.inc"

namespace tilewright::sm {

/// The layout of a tile; null if the type is not a tensor or has no layout.
LayoutAttr layoutOf(mlir::Type type);

/// The tensor type with its layout replaced.
mlir::RankedTensorType withLayout(mlir::Type type, const Layout &layout);

/// The map of a `tile.view` as digits. nullopt if its indices are not sums of digits, as in a
/// reshape of 6x4 to 8x3, where the dimensions do not divide each other.
std::optional<ViewMap> viewMapOf(mlir::AffineMap map, llvm::ArrayRef<int64_t> resultShape,
                                 llvm::ArrayRef<int64_t> sourceShape);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_SMDIALECT_H
