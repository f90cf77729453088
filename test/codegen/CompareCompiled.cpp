// Runs the tests of transform/tile again, with kernels compiled and run instead of evaluated: this
// file replaces testing/Compare.cpp.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/cpu/testing/Kernels.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/testing/Launches.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::tile {

std::vector<int> elementwiseSizes() { return {961, 1024}; }

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernelCount) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&mlirContext, [](mlir::Diagnostic &) {});
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect>();
  EvaluatedProgram program;
  if (std::string problem = program.prepare(mlirContext, text, seed, edges); !problem.empty())
    return problem;
  mlir::ModuleOp module = *program.module;

  const char *wanted = std::getenv("TILEWRIGHT_TEST_CHIP");
  const std::vector<cpu::Chip> &all = cpu::chips();
  const cpu::Chip *chip = wanted ? cpu::chipNamed(wanted) : &cpu::hostChip();
  // If no chip was requested, every fourth seed uses another chip whose code this machine can run.
  if (!wanted && seed % 4 == 3)
    chip = &all[seed / 4 % static_cast<size_t>(&cpu::hostChip() - all.data() + 1)];
  cpu::attachTarget(module, *chip, 2);
  mlir::PassManager passes(&mlirContext);
  buildTilePipeline(passes);
  if (mlir::failed(passes.run(module)))
    return "the pass fails";
  if (kernelCount)
    *kernelCount = static_cast<int>(llvm::range_size(module.getOps<KernelOp>()));
  std::string tiled;
  llvm::raw_string_ostream(tiled) << module;
  if (edges && tiled.find("exec.launch") == std::string::npos)
    return "no kernel";
  auto code = cpu::generateObject(module, *chip);
  if (!code.isOk())
    return concat(std::move(code).takeStatus().message(), "\n", tiled);
  cpu::LoadedKernels kernels = cpu::LoadedKernels::load(*std::move(code));
  interpret::RuntimeValues actual;
  std::string problem = runLaunches(
      program, actual,
      [&](const std::string &kernel, const std::vector<void *> &buffers) {
        kernels.run(kernel, buffers);
        return std::string();
      },
      /*mayEvaluate=*/!edges);
  if (problem.empty())
    problem = program.differenceFrom(actual);
  return problem.empty() ? "" : concat(problem, " on ", chip->name, "\n", tiled);
}

} // namespace tilewright::tile
