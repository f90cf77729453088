#include "tilewright/import/Export.h"

#include "tilewright/import/ExportOperations.h"
#include "tilewright/import/bytecode/Writer.h"
#include "tilewright/support/Concat.h"

namespace tilewright {

Result<bytecode::Version> lowestExportVersion(mlir::ModuleOp module) {
  ExportEntries entries(*module.getContext(), bytecode::newestVersion);
  TILEWRIGHT_TRY(exportOperations(module, entries));
  return entries.newestNeeded();
}

Result<std::string> exportArtifact(mlir::ModuleOp module, std::optional<bytecode::Version> target) {
  if (!target) {
    TILEWRIGHT_ASSIGN(bytecode::Version lowest, lowestExportVersion(module));
    target = std::max(lowest, usualExportVersion);
  }
  if (*target < bytecode::oldestVersion || *target > bytecode::newestVersion)
    return Status(Error::exportVersion,
                  concat("the target version must be StableHLO ",
                         bytecode::oldestVersion.toString(), " to ",
                         bytecode::newestVersion.toString(), ", got ", target->toString()));
  ExportEntries entries(*module.getContext(), *target);
  TILEWRIGHT_TRY(exportOperations(module, entries));
  entries.tables.producer = *target;
  entries.tables.bytecodeVersion = bytecode::bytecodeVersionFor(*target);
  return bytecode::write(entries.tables);
}

} // namespace tilewright
