// Passes of the target for AMD's GPUs.
#ifndef TILEWRIGHT_TARGET_AMDGCN_PASSES_H
#define TILEWRIGHT_TARGET_AMDGCN_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright::amdgcn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/target/amdgcn/Passes.h.inc"

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_PASSES_H
