#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/testing/Launches.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::tile {

// The reference interpreter executes masked and unmasked kernels alike.
std::vector<int> elementwiseSizes() { return {961}; }

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernels) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&mlirContext, [](mlir::Diagnostic &) {});
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect>();
  EvaluatedProgram program;
  if (std::string problem = program.prepare(mlirContext, text, seed, edges); !problem.empty())
    return problem;
  mlir::PassManager passes(&mlirContext);
  buildTilePipeline(passes);
  if (mlir::failed(passes.run(*program.module)))
    return "the pass fails";
  std::string tiled;
  llvm::raw_string_ostream(tiled) << *program.module;
  if (kernels)
    *kernels = static_cast<int>(llvm::range_size(program.module->getOps<KernelOp>()));
  if (edges && tiled.find("exec.launch") == std::string::npos)
    return "no kernel";
  auto actual = interpret::evaluate(*program.module, "main", program.inputs, program.context);
  if (!actual.isOk())
    return concat("after: ", std::move(actual).takeStatus().message(), "\n", tiled);
  std::string problem = program.differenceFrom(*actual);
  return problem.empty() ? "" : concat(problem, "\n", tiled);
}

} // namespace tilewright::tile
