// Exports the operations of a module to an artifact.
#ifndef TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H
#define TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H

#include "tilewright/import/ExportEntries.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Adds the module and everything in it to `entries.tables`. A failure names the operation and its
/// line in the user's program.
Status exportOperations(mlir::ModuleOp module, ExportEntries &entries);

/// Exports one attribute of `op` in VHLO's form, including default values. `op` is a StableHLO or
/// func operation, `name` an attribute of its VHLO form.
Result<bytecode::AttrId> exportAttribute(mlir::Operation *op, std::string_view name,
                                         ExportEntries &entries);

/// Whether attribute `name` of `op` has its default value, so that an older form of the operation,
/// which lacks the attribute, can express `op`.
bool hasDefault(mlir::Operation *op, std::string_view name);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_EXPORTOPERATIONS_H
