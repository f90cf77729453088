#include "tilewright/driver/Compile.h"

#include "tilewright/artifact/Writer.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/driver/CommunicationPlan.h"
#include "tilewright/driver/CompileCache.h"
#include "tilewright/driver/Costs.h"
#include "tilewright/driver/Emit.h"
#include "tilewright/driver/Hints.h"
#include "tilewright/driver/MemoryBudget.h"
#include "tilewright/driver/Pipelines.h"
#include "tilewright/driver/ScaledKernels.h"
#include "tilewright/driver/Stages.h"
#include "tilewright/import/Export.h"
#include "tilewright/import/Import.h"
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/predict/Cluster.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/AllTargets.h"
#include "tilewright/target/Target.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/distribute/Replication.h"
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

#include <optional>
#include <pthread.h>

using namespace mlir;

namespace tilewright::driver {

void registerCompilerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, complex::ComplexDialect,
                  func::FuncDialect, math::MathDialect, memref::MemRefDialect, quant::QuantDialect,
                  scf::SCFDialect, tensor::TensorDialect, exec::ExecDialect, sdy::SdyDialect,
                  sm::SmDialect, stablehlo::StablehloDialect, tile::TileDialect>();
}

namespace {

/// Applies the work limit of the options for the lifetime of this object, unless the caller already
/// has a limit.
class OwnLimit {
public:
  explicit OwnLimit(const CompileOptions &options) {
    if (WorkLimit::current() || (options.maxSeconds <= 0 && options.maxMemory <= 0))
      return;
    scope.emplace(std::make_shared<WorkLimit>(WorkLimit::Amounts{
        .seconds = static_cast<double>(options.maxSeconds), .bytes = options.maxMemory}));
  }

private:
  std::optional<WorkLimit::Scope> scope;
};

} // namespace

/// Exports the module as an artifact, without attributes that only later stages read. Empty if the
/// module has ops that an artifact cannot contain.
static std::string artifactOf(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->walk([](Operation *op) {
    for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
      if (attribute.getName().strref().starts_with("exec."))
        op->removeDiscardableAttr(attribute.getName());
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return;
    auto withoutOurs = [&](DictionaryAttr attributes) {
      SmallVector<NamedAttribute> kept;
      for (NamedAttribute attribute :
           attributes ? attributes.getValue() : ArrayRef<NamedAttribute>())
        if (!attribute.getName().strref().starts_with("exec.") &&
            !attribute.getName().strref().starts_with("sdy."))
          kept.push_back(attribute);
      return kept;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.setArgAttrs(i, withoutOurs(function.getArgAttrDict(i)));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.setResultAttrs(i, withoutOurs(function.getResultAttrDict(i)));
  });
  for (auto mesh : llvm::make_early_inc_range(copy->getOps<sdy::MeshOp>()))
    mesh.erase();
  Result<std::string> artifact = exportArtifact(*copy);
  return artifact.isOk() ? *std::move(artifact) : std::string();
}

static Result<artifact::Executable> generate(const target::Target &target, ModuleOp module,
                                             const CompileRequest &request) {
  TILEWRIGHT_ASSIGN(target::GeneratedCode code, target.generate(module, request.wantsRemarks));
  TILEWRIGHT_ASSIGN(artifact::Executable executable, emitExecutable(module, code.kernels));
  executable.target = std::move(code.target);
  executable.objects = std::move(code.objects);
  executable.binary = std::move(code.binary);
  if (request.report) {
    request.report->budgets = std::move(code.budgets);
    request.report->assembler = std::move(code.assembler);
  }
  return executable;
}

/// `shardingLimit`: max bytes that shardings should hold on one device; 0 for no limit.
static Result<artifact::Executable> compileOnce(const target::Target &target, ModuleOp module,
                                                const CompileRequest &request,
                                                int64_t shardingLimit = 0) {
  target.attach(module);

  TILEWRIGHT_TRY(attachHints(module));
  Stages stages(module, request, /*count=*/8);
  TILEWRIGHT_TRY(stages.run("distribute", [&](OpPassManager &passes) {
    buildDistribute(passes, request, shardingLimit);
  }));
  TILEWRIGHT_TRY(stages.run("simplify", [&](OpPassManager &passes) {
    simplify::buildSimplifyPipeline(passes, request.options.simplify);
  }));
  if (request.perDevice && request.partitions > 1)
    *request.perDevice = artifactOf(module);
  // Record now how loops and branches depend on the rank: communicate reads it, fusion hides the
  // ops from which it is derived, and later stages duplicate some of them.
  distribute::markControl(module);
  TILEWRIGHT_TRY(stages.run("communicate", [&](OpPassManager &passes) {
    communicate::buildCommunicatePipeline(passes, request.options.communicate);
  }));
  const CostsByOp costs = countArithmetic(module);
  TILEWRIGHT_TRY(stages.run(
      "fuse", [&](OpPassManager &passes) { buildFuse(passes, &target, request.options.fuse); }));
  markWork(module);
  markScaledProducts(module);
  TILEWRIGHT_TRY(stages.run("tile", tile::buildTilePipeline));
  TILEWRIGHT_TRY(stages.run("lower", [&](OpPassManager &passes) { buildLower(passes, target); }));
  reportOpenHints(module);
  // Schedule before generating code, because the code generator dismantles kernels.
  TILEWRIGHT_TRY(stages.run("schedule", [&](OpPassManager &passes) {
    schedule::buildSchedulePipeline(passes, request.options.communicate);
  }));

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
    TILEWRIGHT_ASSIGN(executable, generate(target, module, request));
    addCosts(executable, costs);
    return request.deviceMemory > 0 ? checkDeviceMemory(executable, request.deviceMemory)
                                    : Status();
  }));
  executable.communication = std::move(communication);
  executable.replicas = request.replicas;
  executable.partitions = request.partitions;
  if (!request.name.empty())
    executable.name = request.name;
  return executable;
}

static Status checkOptions(const Options &options) {
  struct Choice {
    std::string_view option, value, known[3];
  };
  const Choice choices[] = {
      {"communicate.windows", options.communicate.windows, {"auto", "always", "never"}},
      {"compile.gpu-accuracy", options.compile.gpuAccuracy, {"full", "balanced", "fast"}}};
  for (const auto &[option, value, known] : choices)
    if (!llvm::is_contained(known, value))
      return Status(Error::optionValue, concat(option, " is '", value, "', expected ", known[0],
                                               ", ", known[1], " or ", known[2]));
  return Status();
}

/// The cheapest program is kept if it fits into the memory of a device. Otherwise compiles again,
/// with shardings that hold less by estimate, and with collectives that are neither combined nor
/// begin early; the estimate may be too low, so then once more with half of the memory.
static Result<artifact::Executable> compileFor(const target::Target &target, ModuleOp module,
                                               const CompileRequest &request) {
  TILEWRIGHT_TRY(checkOptions(request.options));
  const bool mayRetry = request.deviceMemory > 0 && request.partitions > 1;
  OwningOpRef<ModuleOp> original = mayRetry ? module.clone() : nullptr;
  Result<artifact::Executable> compiled = compileOnce(target, module, request);
  CompileRequest sparing = request;
  sparing.options.communicate.combineBytes = 0;
  sparing.options.communicate.overlapMemory = 0;
  for (int64_t part = 1; mayRetry && part <= 2 && !compiled.isOk(); ++part) {
    Status status = std::move(compiled).takeStatus();
    if (status.error() != Error::outOfMemory)
      return status;
    OwningOpRef<ModuleOp> copy = original->clone();
    if (request.report)
      *request.report = CompileReport();
    compiled = compileOnce(target, *copy, sparing, request.deviceMemory / part);
  }
  return compiled;
}

///  - clusterMalformed (E0030), clusterMismatch (E0031)
static Status checkCluster(const CompileRequest &request) {
  const std::string &name = request.options.communicate.cluster;
  if (name.empty())
    return Status();
  TILEWRIGHT_ASSIGN(const predict::Cluster cluster, predict::findCluster(name));
  return predict::checkFits(cluster, request.replicas * request.partitions);
}

static Result<std::unique_ptr<target::Target>> createTarget(const CompileRequest &request) {
  target::registerAllTargets();
  return target::createTarget(request.options);
}

Result<artifact::Executable> compile(ModuleOp module, const CompileRequest &request) {
  OwnLimit limit(request.options.compile);
  TILEWRIGHT_TRY(checkCluster(request));
  TILEWRIGHT_ASSIGN(std::unique_ptr<target::Target> target, createTarget(request));
  return compileFor(*target, module, request);
}

Result<artifact::Executable> compile(ArtifactFile file, const CompileRequest &request) {
  OwnLimit limit(request.options.compile);
  TILEWRIGHT_TRY(checkCluster(request));
  TILEWRIGHT_ASSIGN(std::unique_ptr<target::Target> target, createTarget(request));
  const std::optional<CompileCache> cache = CompileCache::open(file.bytes(), request, *target);
  if (cache)
    if (std::optional<artifact::Executable> known = cache->load())
      return *std::move(known);
  DialectRegistry registry;
  registerCompilerDialects(registry);
  // MLIR's own thread pool would compete with the runtime's threads.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  Result<OwningOpRef<ModuleOp>> module = Status(Code::internal, "not imported");
  {
    trace::Span span("compile", "import");
    if (WorkLimit *current = WorkLimit::current())
      current->enter("import");
    module = importArtifact(context, std::move(file), request.options.import);
    if (WorkLimit::mustStop())
      return WorkLimit::current()->status();
  }
  TILEWRIGHT_TRY(std::move(module).takeStatus());
  TILEWRIGHT_ASSIGN(artifact::Executable executable, compileFor(*target, **module, request));
  if (cache)
    cache->store(executable);
  return executable;
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
  // If no thread can be started, run on the caller's stack.
  if (failed)
    return work();
  pthread_join(thread, nullptr);
}

} // namespace tilewright::driver
