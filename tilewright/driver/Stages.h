// Stages: runs passes one stage at a time, with dumps, times and a Status at the end.
#ifndef TILEWRIGHT_DRIVER_STAGES_H
#define TILEWRIGHT_DRIVER_STAGES_H

#include "tilewright/driver/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tilewright::driver {

/// The stages of one compilation. Diagnostics that a stage emits become its
/// Status; with `compile.dump-dir`, the module after each stage is a file there
/// that tilewright-opt can go on from, and what the stages remarked is beside it.
class Stages {
public:
  Stages(mlir::ModuleOp module, const CompileRequest &request, int count);
  ~Stages();

  /// Builds and runs the passes of a stage.
  ///  - compileStage: a pass failed; the message has what it said and where.
  Status run(const char *stage, llvm::function_ref<void(mlir::OpPassManager &)> build);

  /// Runs something else as a stage.
  Status run(const char *stage, llvm::function_ref<Status()> work);

private:
  Status finish(const char *stage, double seconds, Status status);
  Status dump(const char *stage);
  Status dumpRemarks();

  mlir::ModuleOp module;
  const CompileRequest &request;
  int count, done = 0;
  std::string lastDump;
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler;
  std::vector<Remark> remarks;
  size_t dumpedRemarks = 0;
  std::optional<RemarkCollector> collector;
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_STAGES_H
