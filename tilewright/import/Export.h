// exportArtifact(): a module out, as a portable artifact that others read.
#ifndef TILEWRIGHT_IMPORT_EXPORT_H
#define TILEWRIGHT_IMPORT_EXPORT_H

#include "tilewright/import/bytecode/Version.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace tilewright {

/// What an artifact is written for when nobody says otherwise: readers of the
/// last two years know it.
inline constexpr bytecode::Version usualExportVersion{1, 13};

/// Writes a verified module of func, stablehlo and sdy as an artifact for
/// StableHLO `target`. Without a target it is usualExportVersion, or the first
/// version after it that has everything the module uses.
///
///   TILEWRIGHT_ASSIGN(std::string artifact, exportArtifact(module));
///
/// Reading the artifact gives the same module, with one known loss: VHLO has
/// no place for the type of a collective's channel_handle.
///  - exportInexpressible: the target lacks something; says what, which
///    operation uses it, and the first version that has it.
///  - exportUnsupported: no version has it.
Result<std::string> exportArtifact(mlir::ModuleOp module,
                                   std::optional<bytecode::Version> target = std::nullopt);

/// The first version that can express the module.
Result<bytecode::Version> lowestExportVersion(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_EXPORT_H
