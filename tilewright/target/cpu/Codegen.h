// LLVM IR to an object, for one chip.
#ifndef TILEWRIGHT_TARGET_CPU_CODEGEN_H
#define TILEWRIGHT_TARGET_CPU_CODEGEN_H

#include "tilewright/target/cpu/Target.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tilewright::cpu {

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Chip &chip);

/// Few passes: the IR comes with its loops vectorised and its invariants hoisted, so what is
/// left is to promote slots, remove what is computed twice and clean up.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

Result<std::vector<std::byte>> emitObject(llvm::Module &module, llvm::TargetMachine &machine);
std::string emitAssembly(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_CODEGEN_H
