// Target: the driver's interface to a kind of machine. docs/how-to/add-a-target.md
#ifndef TILEWRIGHT_TARGET_TARGET_H
#define TILEWRIGHT_TARGET_TARGET_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::target {

/// How to run one kernel, as the plan of the executable needs it.
struct KernelLaunch {
  int64_t grid = 1; // work items
  int64_t scratchBytes = 0;
  int64_t itemCost = 0;    // estimated nanoseconds for one work item; 0 is unknown
  std::string symbol = {}; // in the object code; if empty, the kernel's name in the module
  std::optional<artifact::GpuLaunch> gpu = std::nullopt; // of GPUs
};

/// The resources of one kernel, as the assembler of the target reports them.
struct KernelBudget {
  std::string symbol;
  int64_t registers = 0; // of a thread
  int64_t spillStoreBytes = 0, spillLoadBytes = 0, stackBytes = 0;
  int64_t sharedBytes = 0; // static; the launch sets dynamic shared memory
  int64_t barriers = 0;
};

/// The code of a module.
struct GeneratedCode {
  artifact::Target target;
  /// The code that the runtime loads: ELF objects, or one PTX text. Empty if there are no kernels.
  std::vector<std::vector<std::byte>> objects;
  std::vector<std::byte> binary;         // machine code beside `objects`, if there is an assembler
  llvm::StringMap<KernelLaunch> kernels; // by their names in the module
  std::vector<KernelBudget> budgets;     // if an assembler was run
  std::string assembler;                 // "ptxas 13.0.88", if one was run
};

/// One chip with the options of one compilation.
class Target {
public:
  virtual ~Target() = default;

  /// Names the chip and the tools that affect the result; part of the key of the compile cache.
  virtual std::string identity() const = 0;

  /// Describes the machine to the stages: writes `exec.target`.
  virtual void attach(mlir::ModuleOp module) const = 0;

  /// Whether `exec.target` is a GPU: kernels are then mapped to threads (`sm` dialect).
  virtual bool isGpu() const { return false; }

  /// Adds passes after fusion, before fusions become kernels.
  virtual void addFusePasses(mlir::OpPassManager &) const {}

  /// Adds passes after fusions have become kernels, before the kernels of a GPU are mapped to
  /// threads.
  virtual void addLowerPasses(mlir::OpPassManager &passes) const = 0;

  /// Generates the code of a scheduled module. Budgets may cost an extra run of an assembler, so
  /// the caller specifies whether it wants them.
  virtual Result<GeneratedCode> generate(mlir::ModuleOp module, bool wantsBudgets) const = 0;
};

/// Adds all passes between kernels on tiles and what the target generates code from. For a GPU,
/// `addLayoutPasses` maps the kernels to threads; the caller provides it because targets do not
/// include stages.
void buildLowerPipeline(mlir::OpPassManager &passes, const Target &target,
                        llvm::function_ref<void(mlir::OpPassManager &)> addLayoutPasses);

/// A kind of machine: creates targets for its chips.
struct Backend {
  std::vector<std::string_view> chips; // their names, for messages
  /// The target that `options.compile.target` names, or null if that is not one of its chips.
  std::unique_ptr<Target> (*create)(const Options &options);
};

/// Adds a backend. Call this before the first compilation; `createTarget` asks backends in the
/// order of their registration.
void registerBackend(Backend backend);

/// The names of a target's rows of chips.
template <typename Chips> std::vector<std::string_view> namesOf(const Chips &chips) {
  std::vector<std::string_view> names;
  for (const auto &chip : chips)
    names.push_back(chip.name);
  return names;
}

/// The target that `options.compile.target` names.
///  - compileTarget: no backend has a chip of that name; the message lists those that exist.
Result<std::unique_ptr<Target>> createTarget(const Options &options);

} // namespace tilewright::target

#endif // TILEWRIGHT_TARGET_TARGET_H
