// compile(): compiles a program to an executable by running the stages in order.
#ifndef TILEWRIGHT_DRIVER_COMPILE_H
#define TILEWRIGHT_DRIVER_COMPILE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/driver/Remarks.h"
#include "tilewright/import/ArtifactFile.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"
#include "tilewright/target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::driver {

/// How long a stage took, and the size of the module after it.
struct StageReport {
  std::string name;
  double seconds = 0;
  int64_t ops = 0; // in the module afterwards
};

/// Results of a compilation besides the executable.
struct CompileReport {
  std::vector<StageReport> stages;
  std::vector<Remark> remarks; // if CompileRequest::wantsRemarks
  /// Resources of kernels as the target's assembler reports them, and its name and version; empty
  /// if none was run.
  std::vector<target::KernelBudget> budgets;
  std::string assembler;
};

struct CompileRequest {
  std::string name; // for dumps and traces; if empty, the module's own name
  int64_t replicas = 1, partitions = 1;
  /// The mesh of ranks, if the program does not define one or is to run on a different one: names
  /// and sizes of axes, outermost first.
  std::vector<std::pair<std::string, int64_t>> mesh;
  Options options;
  /// The maximum number of bytes that the program may hold on one device; 0 for no limit. Shardings
  /// that fit are preferred to cheaper ones.
  int64_t deviceMemory = 0;
  CompileReport *report = nullptr;
  /// Remarks are also collected if `options.compile.dumpDir` is set, into the file remarks.txt.
  bool wantsRemarks = false;
  /// If given, receives the simplified program of one device as a portable artifact, for
  /// inspection. Stays empty if there is only one partition or the program cannot be exported.
  std::string *perDevice = nullptr;
  /// Called when a stage begins, with the completed fraction from 0 to 1; used to print progress.
  std::function<void(const char *stage, double done)> progress;
  /// Called for failures that do not change the result, such as a compile cache that cannot be
  /// written.
  std::function<void(const Status &)> warn;
};

/// Every dialect that a stage reads or creates.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Compiles a portable artifact for `options.compile.target`; if that is empty, for this machine.
/// Deeply nested programs need a large stack; see runOnLargeStack. With `options.compile.cacheDir`
/// it loads the result of an earlier compilation (CompileCache.h).
///
/// Fails with E1xxx if the artifact is not a valid program. Fails with E2xxx or E4xxx if a stage
/// fails; the message names the stage and the user's file and line. Fails with E6015 to E6018 if
/// the ranks could deadlock and `compile.verify-comm` is on. Fails with E2106 or E2107 if compiling
/// takes longer than `compile.max-seconds` or more memory than `compile.max-memory`, with E5050 if
/// the program needs more than `deviceMemory`.
Result<artifact::Executable> compile(ArtifactFile file, const CompileRequest &request);

/// Like compile() above, for a module that is already loaded; consumes the module.
Result<artifact::Executable> compile(mlir::ModuleOp module, const CompileRequest &request);

/// Runs `work` on a thread with a stack of 64 MiB and waits for it. The stacks of callers' threads
/// (2 MiB in jaxlib) may be too small for deeply nested programs.
void runOnLargeStack(const std::function<void()> &work);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COMPILE_H
