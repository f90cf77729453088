// compile(): a program in, an executable out. The stages are put in order here.
#ifndef TILEWRIGHT_DRIVER_COMPILE_H
#define TILEWRIGHT_DRIVER_COMPILE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/driver/Remarks.h"
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"
#include "tilewright/target/nvptx/Ptxas.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::driver {

/// How long a stage took and what it left.
struct StageReport {
  std::string name;
  double seconds = 0;
  int64_t ops = 0; // in the module afterwards
};

/// What a compilation tells besides its result.
struct CompileReport {
  std::vector<StageReport> stages;
  std::vector<Remark> remarks; // if CompileRequest::wantsRemarks
  /// What ptxas says of the kernels of a GPU, and its version; empty where it was not asked.
  std::vector<nvptx::KernelBudget> budgets;
  std::string assembler;
};

struct CompileRequest {
  std::string name; // for dumps and traces; the module's own if empty
  int64_t replicas = 1, partitions = 1;
  /// The ranks as a grid, if the program does not say it, or not like this: names and sizes of
  /// axes, the first outermost.
  std::vector<std::pair<std::string, int64_t>> mesh;
  Options options;
  CompileReport *report = nullptr;
  /// Also wanted by `options.compile.dumpDir`, where they are the file remarks.txt.
  bool wantsRemarks = false;
  /// Called as stages begin, with a number from 0 to 1: for progress lines.
  std::function<void(const char *stage, double done)> progress;
};

/// Every dialect that a stage reads or makes.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Compiles a portable artifact for the machine of `options.compile.target`, this
/// machine's if empty. Needs a deep stack for deep programs; see runOnLargeStack.
///
/// Fails with E1xxx when the artifact is not a program, E2xxx and E4xxx when a
/// stage cannot go on; these name the stage and the user's file and line. With
/// E6015 to E6018 if its ranks could wait for each other for ever and `compile.verify-comm` is on.
Result<artifact::Executable> compile(ArtifactFile file, const CompileRequest &request);

/// The same for a module that was read already; it is consumed.
Result<artifact::Executable> compile(mlir::ModuleOp module, const CompileRequest &request);

/// Runs `work` on a thread with a stack of 64 MiB and waits: callers from
/// elsewhere (jaxlib's have 2 MiB) do not know how deep a program is nested.
void runOnLargeStack(const std::function<void()> &work);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COMPILE_H
