// tilewright-opt: reads IR, verifies it, runs passes and prints it. For tests and for debugging
// single passes.
#include "tilewright/driver/Compile.h"
#include "tilewright/driver/Pipelines.h"
#include "tilewright/interpret/PassLog.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

#include <optional>

int main(int argc, char **argv) {
  const llvm::cl::opt<std::string> logPasses(
      "compile.log-passes",
      llvm::cl::desc("Print the decisions of passes to standard error, as the option of "
                     "`tilewright compile` does: phases or passes, separated by commas, or all"),
      llvm::cl::value_desc("names"));

  mlir::registerTransformsPasses();
  tilewright::driver::registerPipelines();

  mlir::DialectRegistry registry;
  tilewright::driver::registerCompilerDialects(registry);
  const auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "tilewright-opt: checks IR and runs passes on it\n", registry);
  std::optional<tilewright::interpret::PassLog> log;
  if (!logPasses.empty())
    log.emplace(/*context=*/nullptr, logPasses, llvm::errs());
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
