// LLVM IR to PTX, for one chip.
#ifndef TILEWRIGHT_TARGET_NVPTX_CODEGEN_H
#define TILEWRIGHT_TARGET_NVPTX_CODEGEN_H

#include "tilewright/support/Status.h"
#include "tilewright/target/nvptx/Chip.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tilewright::nvptx {

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Chip &chip);

/// Few passes: the IR comes unrolled, with its addresses split into what a thread, a loop and a
/// register add, so what is left is to promote slots, remove what is computed twice and clean up.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Fails with E4050 if the code does arithmetic on pairs of f32: ptxas 12.9 and 13.0 contract
/// separate multiplications and additions of those (reference: docs/design/gpu-compiler.md).
Status checkNoPairs(const llvm::Module &module);

Result<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_CODEGEN_H
