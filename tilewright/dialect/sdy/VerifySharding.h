// Checks of a sharding against its mesh, its tensor and the regions around it.
#ifndef TILEWRIGHT_DIALECT_SDY_VERIFYSHARDING_H
#define TILEWRIGHT_DIALECT_SDY_VERIFYSHARDING_H

#include "tilewright/dialect/sdy/SdyDialect.h"

#include "mlir/IR/Diagnostics.h"

namespace tilewright::sdy {

/// Starts a diagnostic that already names the value, e.g. "result 2 sharding ".
using EmitShardingError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The mesh of `sharding`, or null if its name does not refer to a mesh.
MeshAttr lookupMesh(TensorShardingAttr sharding, mlir::Operation *from,
                    mlir::SymbolTableCollection &symbols);

/// Checks the sharding of one value of `type` that belongs to `op`.
mlir::LogicalResult verifySharding(TensorShardingAttr sharding, mlir::Type type,
                                   mlir::Operation *op, mlir::SymbolTableCollection &symbols,
                                   EmitShardingError emitError);

/// Checks that there is one sharding for each of `types`, and verifies each. `kind` names the
/// values in messages: "operand" or "result".
mlir::LogicalResult verifyShardings(TensorShardingPerValueAttr shardings, mlir::TypeRange types,
                                    llvm::StringRef kind, mlir::Operation *op,
                                    mlir::SymbolTableCollection &symbols);

} // namespace tilewright::sdy

#endif // TILEWRIGHT_DIALECT_SDY_VERIFYSHARDING_H
