// Passes of the GPU target.
#ifndef TILEWRIGHT_TARGET_NVPTX_PASSES_H
#define TILEWRIGHT_TARGET_NVPTX_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright::nvptx {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilewright/target/nvptx/Passes.h.inc"

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_PASSES_H
