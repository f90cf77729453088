// Runs the tests of transform/tile again, with kernels compiled for GPUs and run on the virtual GPU
// with every check on: this file replaces testing/Compare.cpp.
#include "test/gpu/VirtualAmdGpu.h"
#include "test/nvptx/VirtualGpu.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"
#include "tilewright/transform/tile/testing/Launches.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::tile {

std::vector<int> elementwiseSizes() { return {961, 1024}; }

/// Generates code for one of NVIDIA's chips and loads it. Sets `run`, or returns what is wrong.
static std::string load(mlir::ModuleOp module, const nvptx::Chip &chip, uint64_t seed,
                        RunKernel &run) {
  auto code = nvptx::generateCode(module, chip);
  if (!code.isOk())
    return std::move(code).takeStatus().message();
  auto gpu = std::make_shared<nvptx::VirtualGpu>();
  run = [gpu, seed](const std::string &kernel, const std::vector<void *> &buffers) {
    return gpu->run(kernel, buffers, static_cast<int>(seed % 3), seed);
  };
  return gpu->load(*code, std::string(chip.name));
}

/// The same for AMD's chips.
static std::string load(mlir::ModuleOp module, const amdgcn::Chip &chip, uint64_t seed,
                        RunKernel &run) {
  auto code = amdgcn::generateCode(module, chip);
  if (!code.isOk())
    return std::move(code).takeStatus().message();
  auto gpu = std::make_shared<amdgcn::VirtualAmdGpu>();
  run = [gpu, seed](const std::string &kernel, const std::vector<void *> &buffers) {
    return gpu->run(kernel, buffers, static_cast<int>(seed % 3), seed);
  };
  return gpu->load(*code);
}

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernelCount) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&mlirContext, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      complaints += diagnostic.str() + "\n";
  });
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect, sm::SmDialect>();
  EvaluatedProgram program;
  if (std::string problem = program.prepare(mlirContext, text, seed, edges); !problem.empty())
    return problem;
  mlir::ModuleOp module = *program.module;

  const char *wanted = std::getenv("TILEWRIGHT_TEST_CHIP");
  const std::string name = wanted ? wanted : seed % 2 ? "sm_90a" : "sm_80";
  const nvptx::Chip *chip = nvptx::chipNamed(name);
  const amdgcn::Chip *amdChip = amdgcn::chipNamed(name);
  if (!chip && !amdChip)
    return concat("no chip ", name);
  auto given = module->getAttrOfType<mlir::DictionaryAttr>(exec::ExecDialect::targetAttr);
  if (chip)
    nvptx::attachTarget(module, *chip);
  else
    amdgcn::attachTarget(module, *amdChip);
  // Tests that need everything in loops limit how many elements a block may hold.
  if (mlir::Attribute elements = given ? given.get("tile_elements") : mlir::Attribute()) {
    auto target = module->getAttrOfType<mlir::DictionaryAttr>(exec::ExecDialect::targetAttr);
    mlir::NamedAttrList entries(target);
    entries.set("tile_elements", elements);
    module->setAttr(exec::ExecDialect::targetAttr, entries.getDictionary(&mlirContext));
  }
  mlir::PassManager tiling(&mlirContext), solving(&mlirContext);
  buildTilePipeline(tiling);
  solve::buildLayoutPipeline(solving);
  if (mlir::failed(tiling.run(module)))
    return concat("a pass fails: ", complaints);
  // Products of f32 on tensor cores round their factors to tf32.
  module.walk([&](DotOp dot) { program.allowance.roundsToTf32 |= dot.getTf32(); });
  if (mlir::failed(solving.run(module)))
    return concat("a pass fails: ", complaints);
  if (kernelCount)
    *kernelCount = static_cast<int>(llvm::range_size(module.getOps<sm::KernelOp>()));
  std::string solved;
  llvm::raw_string_ostream(solved) << module;
  if (edges && solved.find("exec.launch") == std::string::npos)
    return "no kernel";
  RunKernel run;
  if (std::string problem =
          chip ? load(module, *chip, seed, run) : load(module, *amdChip, seed, run);
      !problem.empty())
    return concat(problem, " on ", name, "\n", solved);
  interpret::RuntimeValues actual;
  std::string problem = runLaunches(program, actual, run, /*mayEvaluate=*/!edges);
  if (problem.empty())
    problem = program.differenceFrom(actual);
  return problem.empty() ? "" : concat(problem, " on ", name, "\n", solved);
}

} // namespace tilewright::tile
