// Compiles LLVM IR to an object for one chip.
#ifndef TILEWRIGHT_TARGET_CPU_CODEGEN_H
#define TILEWRIGHT_TARGET_CPU_CODEGEN_H

#include "tilewright/target/cpu/GenerateObject.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tilewright::cpu {

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Chip &chip);

/// Runs few passes, because the loops of the IR are already vectorized and its invariants hoisted:
/// only promotes allocas to registers, removes common subexpressions and cleans up.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

Result<std::vector<std::byte>> emitObject(llvm::Module &module, llvm::TargetMachine &machine);
std::string emitAssembly(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_CODEGEN_H
