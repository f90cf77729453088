// TargetStages: what a compilation does that depends on the machine.
#ifndef TILEWRIGHT_DRIVER_TARGETSTAGES_H
#define TILEWRIGHT_DRIVER_TARGETSTAGES_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/driver/Compile.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <memory>

namespace tilewright::driver {

/// One kind of machine. Made for one compilation.
class TargetStages {
public:
  virtual ~TargetStages() = default;
  /// Writes `exec.target`, which the stages read.
  virtual void attach(mlir::ModuleOp module) = 0;
  /// After fusions are made, before kernels are made of them.
  virtual void addFusePasses(mlir::OpPassManager &) {}
  /// After kernels are made of fusions.
  virtual void addLowerPasses(mlir::OpPassManager &passes) = 0;
  /// Code, plan and target of a module that is scheduled.
  virtual Result<artifact::Executable> generate(mlir::ModuleOp module) = 0;
};

/// For `options.compile.target` of the request, which is referred to.
///  - compileTarget (E2105): no chip has that name.
Result<std::unique_ptr<TargetStages>> createTargetStages(const CompileRequest &request);

std::unique_ptr<TargetStages> createCpuStages(const CompileRequest &request);
std::unique_ptr<TargetStages> createGpuStages(const CompileRequest &request);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_TARGETSTAGES_H
