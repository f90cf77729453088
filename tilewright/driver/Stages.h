// Stages: runs the passes of each stage, with dumps, timing and error reporting.
#ifndef TILEWRIGHT_DRIVER_STAGES_H
#define TILEWRIGHT_DRIVER_STAGES_H

#include "tilewright/driver/Compile.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/support/WorkLimit.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::driver {

/// The stages of one compilation. Diagnostics that a stage emits become its Status. With
/// `compile.dump-dir`, the input program, the module after each stage and the remarks are written
/// to files there. A dump is complete, including constants, and contains instructions to resume the
/// compilation from it: a pass pipeline for `tilewright-opt --run-reproducer`, and 00-input.mlir
/// also a command. If the thread has a WorkLimit, passes and rewrites after the limit is reached
/// are skipped, and the stage fails with the limit's status.
class Stages {
public:
  Stages(mlir::ModuleOp module, const CompileRequest &request, int count);
  ~Stages();

  /// Builds and runs the passes of a stage.
  ///  - compileStage: a pass failed; the message contains its diagnostic and location.
  ///  - compileDeadline, compileMemory: the work limit is reached.
  Status run(const char *stage, llvm::function_ref<void(mlir::OpPassManager &)> build);

  /// Runs a function as a stage.
  Status run(const char *stage, llvm::function_ref<Status()> work);

private:
  /// From now on, passes and rewrites do not start once the limit is reached.
  void watchLimit();
  Status runPasses(llvm::function_ref<void(mlir::OpPassManager &)> build);
  Status finish(const char *stage, double seconds, Status status);
  Status dump(const char *stage);
  /// Appends the pipeline of `passes` to the last dump before it runs, so that a crash can be
  /// replayed.
  Status addReproducer(mlir::PassManager &passes);
  std::string howToReplay() const;
  Status dumpRemarks();

  mlir::ModuleOp module;
  const CompileRequest &request;
  WorkLimit *const limit;   // null for none
  llvm::StringRef lastPass; // the last pass that began in this stage, if there is a limit
  int count, done = 0;
  std::string lastDump;
  bool hasReproducer = false; // lastDump contains the passes that come next
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler;
  std::vector<Remark> remarks;
  size_t dumpedRemarks = 0;
  std::optional<RemarkCollector> collector;
  std::optional<interpret::PassLog> log;
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_STAGES_H
