#include "tilewright/driver/Compile.h"

#include "tilewright/artifact/Writer.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/driver/Costs.h"
#include "tilewright/driver/Emit.h"
#include "tilewright/driver/Stages.h"
#include "tilewright/import/Import.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/target/cpu/Chip.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/Target.h"
#include "tilewright/transform/distribute/Replicate.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/schedule/Passes.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

using namespace mlir;

namespace tilewright::driver {

void registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, complex::ComplexDialect,
                  func::FuncDialect, math::MathDialect, memref::MemRefDialect, quant::QuantDialect,
                  scf::SCFDialect, tensor::TensorDialect, exec::ExecDialect, sdy::SdyDialect,
                  stablehlo::StablehloDialect, tile::TileDialect>();
}

static Result<const cpu::Chip *> chipFor(const Options &options) {
  const std::string &name = options.compile.cpu;
  if (name.empty())
    return &cpu::hostChip();
  if (const cpu::Chip *chip = cpu::chipNamed(name))
    return chip;
  std::string known;
  for (const cpu::Chip &chip : cpu::chips())
    known += concat(known.empty() ? "" : ", ", chip.name);
  return Status(Error::compileTarget, concat("compile.cpu is '", name, "'; known are ", known));
}

/// Threads that programs will run on, and that the code generator may use before: those of the
/// runtime, which are as many as there are cores unless it is told otherwise.
static int64_t threadsFor(const Options &options) {
  if (options.runtime.threads > 0)
    return options.runtime.threads;
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
}

Result<artifact::Executable> compile(ModuleOp module, const CompileRequest &request) {
  TILEWRIGHT_ASSIGN(const cpu::Chip *chip, chipFor(request.options));
  const int64_t threads = threadsFor(request.options);
  cpu::attachTarget(module, *chip, /*cores=*/threads);

  Stages stages(module, request, /*count=*/8);
  TILEWRIGHT_TRY(
      stages.run("distribute", [&] { return distribute::replicate(module, request.partitions); }));
  TILEWRIGHT_TRY(stages.run("simplify", [&](OpPassManager &passes) {
    simplify::buildSimplifyPipeline(passes, request.options.simplify);
  }));
  // Fusing hides ops, and later stages repeat some of them.
  const CostsByOp costs = countArithmetic(module);
  TILEWRIGHT_TRY(stages.run("fuse", [&](OpPassManager &passes) {
    fuse::buildFusePipeline(passes, request.options.fuse);
    // Before kernels are made of fusions: those that products compute need none.
    passes.addPass(cpu::createCpuFuseEpiloguesPass());
  }));
  TILEWRIGHT_TRY(stages.run(
      "tile", [&](OpPassManager &passes) { passes.addPass(tile::createTileFusionsPass()); }));
  TILEWRIGHT_TRY(
      stages.run("lower", [&](OpPassManager &passes) { cpu::buildLowerPipeline(passes); }));
  // The plan before the code: the code generator takes kernels apart.
  TILEWRIGHT_TRY(stages.run(
      "schedule", [&](OpPassManager &passes) { schedule::buildSchedulePipeline(passes); }));

  artifact::Executable executable;
  TILEWRIGHT_TRY(stages.run("code", [&]() -> Status {
    cpu::CodegenOptions codegen;
    codegen.threads = static_cast<unsigned>(threads);
    TILEWRIGHT_ASSIGN(cpu::ObjectCode code, cpu::generateObject(module, *chip, codegen));
    llvm::StringMap<KernelFacts> facts;
    for (const cpu::KernelInfo &kernel : code.kernels)
      facts[kernel.symbol] = {kernel.grid, kernel.scratchBytes, kernel.itemCost};
    TILEWRIGHT_ASSIGN(executable, emitExecutable(module, facts));
    executable.object = std::move(code.bytes);
    addCosts(executable, costs);
    return {};
  }));
  executable.target.triple = cpu::triple;
  executable.target.cpu = chip->name;
  for (std::string_view feature : chip->features)
    executable.target.features.emplace_back(feature);
  executable.replicas = request.replicas;
  executable.partitions = request.partitions;
  if (!request.name.empty())
    executable.name = request.name;
  return executable;
}

Result<artifact::Executable> compile(ArtifactFile file, const CompileRequest &request) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  // Threads of MLIR's own would compete with those of the runtime.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Result<OwningOpRef<ModuleOp>> module = Status(Code::internal, "not imported");
  {
    trace::Span span("compile", "import");
    module = importArtifact(context, std::move(file), request.options.import);
  }
  TILEWRIGHT_TRY(std::move(module).takeStatus());
  return compile(**module, request);
}

void runOnLargeStack(const std::function<void()> &work) {
  constexpr size_t stackBytes = size_t(64) << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  auto enter = [](void *work) -> void * {
    trace::nameThread("compiler");
    (*static_cast<const std::function<void()> *>(work))();
    return nullptr;
  };
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  int failed =
      pthread_create(&thread, &attributes, enter, const_cast<std::function<void()> *>(&work));
  pthread_attr_destroy(&attributes);
  // Without a thread, the caller's own stack is better than no result.
  if (failed)
    return work();
  pthread_join(thread, nullptr);
}

} // namespace tilewright::driver
