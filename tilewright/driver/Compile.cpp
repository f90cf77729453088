#include "tilewright/driver/Compile.h"

#include "tilewright/artifact/Writer.h"
#include "tilewright/collective/plan/PlanBytes.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/driver/CommunicationPlan.h"
#include "tilewright/driver/Costs.h"
#include "tilewright/driver/Stages.h"
#include "tilewright/driver/TargetStages.h"
#include "tilewright/import/Import.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/target/cpu/Chip.h"
#include "tilewright/target/nvptx/Chip.h"
#include "tilewright/transform/distribute/Replication.h"
#include "tilewright/transform/distribute/Split.h"
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

using namespace mlir;

namespace tilewright::driver {

void registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, complex::ComplexDialect,
                  func::FuncDialect, math::MathDialect, memref::MemRefDialect, quant::QuantDialect,
                  scf::SCFDialect, tensor::TensorDialect, exec::ExecDialect, sdy::SdyDialect,
                  sm::SmDialect, stablehlo::StablehloDialect, tile::TileDialect>();
}

Result<std::unique_ptr<TargetStages>> createTargetStages(const CompileRequest &request) {
  if (auto stages = createCpuStages(request))
    return stages;
  if (auto stages = createGpuStages(request))
    return stages;
  std::string known;
  for (const cpu::Chip &chip : cpu::chips())
    known += concat(known.empty() ? "" : ", ", chip.name);
  for (const nvptx::Chip &chip : nvptx::chips())
    known += concat(", ", chip.name);
  return Status(Error::compileTarget, concat("compile.target is '", request.options.compile.target,
                                             "'; known are ", known));
}

Result<artifact::Executable> compile(ModuleOp module, const CompileRequest &request) {
  TILEWRIGHT_ASSIGN(std::unique_ptr<TargetStages> target, createTargetStages(request));
  target->attach(module);

  Stages stages(module, request, /*count=*/8);
  TILEWRIGHT_TRY(stages.run("distribute", [&]() -> Status {
    std::vector<distribute::RankMesh::Axis> axes;
    for (const auto &[name, size] : request.mesh)
      axes.push_back({name, size});
    TILEWRIGHT_TRY(
        distribute::chooseMesh(module, std::move(axes), request.replicas, request.partitions));
    if (request.partitions == 1)
      return {};
    // Pieces are followed through one flat function.
    PassManager passes(module.getContext(), ModuleOp::getOperationName());
    simplify::InlinePassOptions inlining;
    inlining.maxOps = request.options.simplify.maxOps;
    passes.addPass(simplify::createInlinePass(inlining));
    if (failed(passes.run(module)))
      return Status(Error::compileStage, "");
    return distribute::split(module, request.partitions);
  }));
  TILEWRIGHT_TRY(stages.run("simplify", [&](OpPassManager &passes) {
    simplify::buildSimplifyPipeline(passes, request.options.simplify);
  }));
  // Fusing hides ops, and what they compute from the rank; later stages repeat some of them.
  distribute::markControl(module);
  const CostsByOp costs = countArithmetic(module);
  TILEWRIGHT_TRY(stages.run("fuse", [&](OpPassManager &passes) {
    fuse::buildFusePipeline(passes, request.options.fuse);
    target->addFusePasses(passes);
  }));
  TILEWRIGHT_TRY(stages.run(
      "tile", [&](OpPassManager &passes) { passes.addPass(tile::createTileFusionsPass()); }));
  TILEWRIGHT_TRY(
      stages.run("lower", [&](OpPassManager &passes) { target->addLowerPasses(passes); }));
  // The plan before the code: the code generator takes kernels apart.
  TILEWRIGHT_TRY(stages.run(
      "schedule", [&](OpPassManager &passes) { schedule::buildSchedulePipeline(passes); }));

  std::vector<std::byte> communication;
  if (request.replicas * request.partitions > 1) {
    TILEWRIGHT_ASSIGN(collective::CommPlan plan, communicationPlanOf(module));
    if (request.options.compile.verifyComm)
      TILEWRIGHT_TRY(proveCommunication(plan));
    if (!plan.sites.empty())
      communication = collective::writePlan(plan);
  }

  artifact::Executable executable;
  TILEWRIGHT_TRY(stages.run("code", [&]() -> Status {
    TILEWRIGHT_ASSIGN(executable, target->generate(module));
    addCosts(executable, costs);
    return {};
  }));
  executable.communication = std::move(communication);
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
