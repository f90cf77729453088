// importArtifact(): a portable artifact in, a verified module out.
#ifndef TILEWRIGHT_IMPORT_IMPORT_H
#define TILEWRIGHT_IMPORT_IMPORT_H

#include "tilewright/import/ArtifactFile.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {

/// Loads func, stablehlo, sdy and quant: what an imported module is made of.
void loadImportDialects(mlir::MLIRContext &context);

/// Reads a StableHLO portable artifact, of version 0.9 to 1.20, from whoever
/// wrote it: no sequence of bytes crashes or exhausts the process within the
/// limits of `options`.
///
///   TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, options.import));
///   TILEWRIGHT_ASSIGN(auto module, importArtifact(context, file, options.import));
///
/// The module is func + stablehlo (+ sdy where the producer used it), at the
/// newest version of every op, and has passed the verifier; no function calls
/// itself. Constants above a few KiB point into `file`, which `context` then
/// keeps alive: see EntryBuilder::constant.
///
/// Fails with E1001 to E1099 when the bytes are no artifact, E1101 to E1109
/// when they describe no valid program; the latter name the operation and the
/// user's line.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importArtifact(mlir::MLIRContext &context, ArtifactFile file, const ImportOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_IMPORT_H
