// importArtifact(): reads a portable StableHLO artifact as a verified module.
#ifndef TILEWRIGHT_IMPORT_IMPORT_H
#define TILEWRIGHT_IMPORT_IMPORT_H

#include "tilewright/import/ArtifactFile.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tilewright {

/// Loads func, stablehlo, sdy and quant: the dialects of an imported module.
void loadImportDialects(mlir::MLIRContext &context);

/// Reads a StableHLO portable artifact of version 0.9 to 1.20. The bytes are untrusted: within the
/// limits of `options`, no input crashes the process or exhausts its memory.
///
///   TILEWRIGHT_ASSIGN(ArtifactFile file, ArtifactFile::open(path, options.import));
///   TILEWRIGHT_ASSIGN(auto module, importArtifact(context, file, options.import));
///
/// The module is func + stablehlo (+ sdy where the producer used it), at the newest version of
/// every op, and has passed the verifier; no function is recursive. Constants above a few KiB point
/// into `file`, which `context` then keeps alive: see EntryBuilder::constant.
///
/// Fails with E1001 to E1099 if the bytes are not a valid artifact, and with E1101 to E1109 if the
/// artifact is not a valid program; the latter name the operation and the user's line.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
importArtifact(mlir::MLIRContext &context, ArtifactFile file, const ImportOptions &options);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_IMPORT_H
