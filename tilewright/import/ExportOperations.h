// The operations of a module as those of an artifact.
#ifndef TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H
#define TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H

#include "tilewright/import/ExportEntries.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Adds the module and all it holds to `entries.tables`. A failure says which
/// operation, and where in the user's program.
Status exportOperations(mlir::ModuleOp module, ExportEntries &entries);

/// The value of one attribute of `op` as VHLO writes it, defaults included.
/// `op` is a StableHLO or func operation, `name` an attribute of its VHLO form.
Result<bytecode::AttrId> exportAttribute(mlir::Operation *op, std::string_view name,
                                         ExportEntries &entries);

/// Whether `op` can do without an attribute that only newer forms have.
bool hasDefault(mlir::Operation *op, std::string_view name);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H
