// Compiles LLVM IR to a relocatable object for one chip.
#ifndef TILEWRIGHT_TARGET_AMDGCN_CODEGEN_H
#define TILEWRIGHT_TARGET_AMDGCN_CODEGEN_H

#include "tilewright/support/Status.h"
#include "tilewright/target/amdgcn/Chip.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace tilewright::amdgcn {

Result<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const Chip &chip);

/// Makes each function a kernel of workgroups of exactly `threadsOf(name)` threads, whose only
/// arguments are its parameters.
void markKernels(llvm::Module &module,
                 llvm::function_ref<int64_t(llvm::StringRef symbol)> threadsOf);

/// Simplifies the code of kernels.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// Emits an object file or, for a look at it, assembly. The module cannot be used again.
Result<std::string> emit(llvm::Module &module, llvm::TargetMachine &machine,
                         llvm::CodeGenFileType type);

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_CODEGEN_H
