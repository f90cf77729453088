// Whether a module is a program that the specification allows.
#ifndef TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
#define TILEWRIGHT_IMPORT_VERIFYPROGRAM_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Runs MLIR's verifier, which runs those of the dialects, and then looks for
/// functions that call themselves, over however many others.
///  - programInvalid: a rule is broken; says which, by which operation, where.
///  - callsItself: there is a cycle; names its functions.
Status verifyProgram(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
