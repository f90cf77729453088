// exportArtifact(): writes a module as a portable StableHLO artifact.
#ifndef TILEWRIGHT_IMPORT_EXPORT_H
#define TILEWRIGHT_IMPORT_EXPORT_H

#include "tilewright/import/bytecode/Version.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace tilewright {

/// The default target version: readers from the last two years support it.
inline constexpr bytecode::Version usualExportVersion{1, 13};

/// Writes a verified module of func, stablehlo and sdy as an artifact for StableHLO `target`.
/// Without a target it uses usualExportVersion, or the first later version that has everything the
/// module uses.
///
///   TILEWRIGHT_ASSIGN(std::string artifact, exportArtifact(module));
///
/// Importing the artifact gives the same module, except for the type of a collective's
/// channel_handle, which VHLO cannot represent.
///  - exportInexpressible: the target version lacks a feature that the module uses; the message
///    names the feature, the operation and the first version that has it.
///  - exportUnsupported: no version has the feature.
Result<std::string> exportArtifact(mlir::ModuleOp module,
                                   std::optional<bytecode::Version> target = std::nullopt);

/// The first version that can express the module.
Result<bytecode::Version> lowestExportVersion(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_EXPORT_H
