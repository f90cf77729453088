// LLVM's code generator for a chip, and the passes that come before it.
#ifndef TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H
#define TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H

#include "tilewright/support/Status.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::codegen {

/// What a target asks LLVM for. The target is registered by the caller.
struct MachineRequest {
  std::string_view triple;
  std::string_view cpu;
  std::string features;
  std::optional<llvm::Reloc::Model> relocation = std::nullopt;
  std::optional<llvm::CodeModel::Model> codeModel = std::nullopt;
  Error failure;
  /// Whose chip it is, for the message: " of Chips.def".
  std::string origin;
};

/// Results do not depend on what the compiler finds: no fused multiply-add but those written.
Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const MachineRequest &request);

/// Promotes slots, removes what is computed twice and cleans up; then `last`, if it is given.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              std::optional<llvm::FunctionPassManager> last = std::nullopt);

inline llvm::StringRef toRef(std::string_view text) { return {text.data(), text.size()}; }

} // namespace tilewright::codegen

#endif // TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H
