// LLVM's code generator for a chip, and the passes before it.
#ifndef TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H
#define TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H

#include "tilewright/support/Status.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::codegen {

/// Registers a target with LLVM, once per process: calls its functions LLVMInitialize….
template <void (*...initialize)()> void registerTarget() {
  static std::once_flag once;
  std::call_once(once, [] { (initialize(), ...); });
}

/// A target's request to LLVM. The caller must have registered the target.
struct MachineRequest {
  std::string_view triple;
  std::string_view cpu;
  std::string features;
  std::optional<llvm::Reloc::Model> relocation = std::nullopt;
  std::optional<llvm::CodeModel::Model> codeModel = std::nullopt;
  Error failure;
  /// The origin of the chip, for error messages: " of Chips.def".
  std::string origin;
};

/// Disables contraction, so that results do not depend on optimizations: only explicit fma ops are
/// fused.
Result<std::unique_ptr<llvm::TargetMachine>> createMachine(const MachineRequest &request);

/// Promotes allocas to registers, removes common subexpressions and cleans up; then runs `last`, if
/// given. Skips the remaining passes once the thread's work limit is reached.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              std::optional<llvm::FunctionPassManager> last = std::nullopt);

/// The passes of a code generator. Once the thread's work limit is reached, empties the remaining
/// functions before their passes run, so that these take no time; the output is then discarded.
class CodegenPasses : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override;

private:
  bool isFirstOfFunctions = true; // consecutive function passes run on one function after another
};

/// Prints generated code on standard output, for a pass that prints it.
void printCode(std::string_view text);

inline llvm::StringRef toRef(std::string_view text) { return {text.data(), text.size()}; }

} // namespace tilewright::codegen

#endif // TILEWRIGHT_TARGET_CODEGEN_CODEGENERATOR_H
