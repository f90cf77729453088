// tilewright-opt: reads IR, verifies it, runs passes and prints it. For tests and for debugging
// single passes.
#include "tilewright/driver/Compile.h"
#include "tilewright/driver/Pipelines.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::registerTransformsPasses();
  tilewright::driver::registerPipelines();

  mlir::DialectRegistry registry;
  tilewright::driver::registerCompilerDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tilewright-opt: checks IR and runs passes on it\n", registry));
}
