// Passes that all targets share.
#ifndef TILEWRIGHT_TARGET_PASSES_H
#define TILEWRIGHT_TARGET_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright::target {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/target/Passes.h.inc"

} // namespace tilewright::target

#endif // TILEWRIGHT_TARGET_PASSES_H
