// generateCode(): compiles the kernels of a module to a code object.
#ifndef TILEWRIGHT_TARGET_AMDGCN_GENERATECODE_H
#define TILEWRIGHT_TARGET_AMDGCN_GENERATECODE_H

#include "tilewright/support/Status.h"
#include "tilewright/target/Target.h"
#include "tilewright/target/amdgcn/Chip.h"
#include "tilewright/target/gpu/KernelInfo.h"

#include "mlir/IR/DialectRegistry.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::amdgcn {

struct CodegenOptions {
  /// The level to pass to `dump`: "mlir" of the lowered kernels, "llvm" before LLVM's passes,
  /// "llvm-optimized" after them, or "asm".
  std::string dumpLevel;
  std::function<void(std::string_view text)> dump;
};

struct GpuCode {
  /// A linked code object; empty if the module has no kernels.
  std::string object;
  std::vector<gpu::KernelInfo> kernels;
  std::vector<target::KernelBudget> budgets; // of each kernel
};

/// Compiles every `sm.kernel` of the module. A kernel's parameters are the pointers of its memrefs,
/// in order. Fails with E4050 to E4052 and E4054.
Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options = {});

/// Adds the dialects that kernels are lowered to, with their translation to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_GENERATECODE_H
