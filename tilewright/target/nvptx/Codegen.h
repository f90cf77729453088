// Compiles LLVM IR to PTX for one chip.
#ifndef TILEWRIGHT_TARGET_NVPTX_CODEGEN_H
#define TILEWRIGHT_TARGET_NVPTX_CODEGEN_H

#include "tilewright/support/Status.h"
#include "tilewright/target/nvptx/Chip.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tilewright::nvptx {

/// For the chip's version of PTX, or a later one that the code needs.
Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Chip &chip,
                                                                 uint32_t minPtx = 0);

/// Runs few passes, because the IR is already unrolled and its addresses are split into thread,
/// loop and register parts: only promotes allocas to registers, removes common subexpressions and
/// cleans up.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Fails with E4050 if the code has arithmetic on pairs of f32, whose separate multiplications and
/// additions ptxas 12.9 and 13.0 contract (see docs/design/gpu-compiler.md).
Status checkNoPairs(const llvm::Module &module);

Result<std::string> emitPtx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_CODEGEN_H
