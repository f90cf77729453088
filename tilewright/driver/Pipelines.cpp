#include "tilewright/driver/Pipelines.h"

#include "tilewright/import/Passes.h"
#include "tilewright/target/AllTargets.h"
#include "tilewright/transform/PipelineOptions.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/distribute/Passes.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/schedule/Passes.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::driver {

void buildDistribute(OpPassManager &passes, const CompileRequest &request, int64_t memoryLimit) {
  distribute::DistributeOptions options;
  for (const auto &[name, size] : request.mesh)
    options.mesh.push_back({name, size});
  options.replicas = request.replicas;
  options.partitions = request.partitions;
  options.memoryLimit = memoryLimit;
  const SimplifyOptions &simplify = request.options.simplify;
  distribute::buildDistributePipeline(passes, options, [&](OpPassManager &inner) {
    simplify::addPreparationPasses(inner, simplify);
  });
}

void buildFuse(OpPassManager &passes, const target::Target *target, const FuseOptions &options) {
  fuse::buildFusePipeline(passes, options, [&](OpPassManager &inner) {
    if (target)
      target->addFusePasses(inner);
  });
}

void buildLower(OpPassManager &passes, const target::Target &target) {
  target::buildLowerPipeline(passes, target, solve::buildLayoutPipeline);
}

namespace {

struct DistributeOptions : PassPipelineOptions<DistributeOptions> {
  ListOption<std::string> mesh{*this, "mesh",
                               llvm::cl::desc("The axes, outermost first, each as name=size")};
  Option<int64_t> replicas{*this, "replicas", llvm::cl::desc("0 for the module's"),
                           llvm::cl::init(0)};
  Option<int64_t> partitions{*this, "partitions", llvm::cl::desc("0 for the module's"),
                             llvm::cl::init(0)};
  Option<int64_t> maxOps{*this, "max-ops", llvm::cl::desc("Maximum number of ops after inlining"),
                         llvm::cl::init(SimplifyOptions().maxOps)};
};

struct FusePipelineOptions : transform::fuse_pipeline {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("Adds the passes of this chip; none if empty"),
                             llvm::cl::init("")};
};

struct LowerOptions : PassPipelineOptions<LowerOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("The chip; this machine's if empty"),
                             llvm::cl::init("")};
};

/// Reports an error of a pipeline's options.
using Report = llvm::function_ref<LogicalResult(const llvm::Twine &)>;

/// Registers a pipeline whose builder may refuse its options; MLIR's PassPipelineRegistration
/// cannot.
template <typename PipelineOptions>
void registerPipeline(llvm::StringRef name, llvm::StringRef summary,
                      LogicalResult (*build)(OpPassManager &, const PipelineOptions &, Report)) {
  registerPassPipeline(
      name, summary,
      [build](OpPassManager &passes, llvm::StringRef text, Report report) {
        PipelineOptions options;
        return failed(options.parseFromString(text)) ? failure() : build(passes, options, report);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(PipelineOptions());
      });
}

Result<std::unique_ptr<target::Target>> targetNamed(const std::string &name) {
  target::registerAllTargets();
  Options options;
  options.compile.target = name;
  return target::createTarget(options);
}

LogicalResult registeredDistribute(OpPassManager &passes, const DistributeOptions &given,
                                   Report report) {
  CompileRequest request;
  for (llvm::StringRef text : given.mesh) {
    auto [name, size] = text.rsplit('=');
    int64_t count = 0;
    if (name.empty() || size.getAsInteger(10, count) || count < 1)
      return report("expects an axis of the mesh as name=size, such as data=2, got '" + text + "'");
    request.mesh.push_back({name.str(), count});
  }
  request.replicas = given.replicas;
  request.partitions = given.partitions;
  request.options.simplify.maxOps = given.maxOps;
  buildDistribute(passes, request);
  return success();
}

LogicalResult registeredFuse(OpPassManager &passes, const FusePipelineOptions &given,
                             Report report) {
  if (given.target.empty()) {
    buildFuse(passes, /*target=*/nullptr, valuesOf(given));
    return success();
  }
  Result<std::unique_ptr<target::Target>> target = targetNamed(given.target);
  if (!target.isOk())
    return report(std::move(target).takeStatus().toString());
  buildFuse(passes, target->get(), valuesOf(given));
  return success();
}

LogicalResult registeredLower(OpPassManager &passes, const LowerOptions &given, Report report) {
  Result<std::unique_ptr<target::Target>> target = targetNamed(given.target);
  if (!target.isOk())
    return report(std::move(target).takeStatus().toString());
  buildLower(passes, **target);
  return success();
}

} // namespace

void registerPipelines() {
  registerImportPasses();
  distribute::registerTilewrightDistributePasses();
  simplify::registerSimplifyPasses();
  communicate::registerCommunicatePasses();
  fuse::registerFusePasses();
  tile::registerTilePasses();
  solve::registerTilewrightTileSolvePasses();
  target::registerAllTargetPasses();
  schedule::registerSchedulePasses();
  // A pipeline may be registered only once.
  [[maybe_unused]] static const bool once = [] {
    registerPipeline("distribute", "Divides a program among devices", registeredDistribute);
    registerPipeline("fuse", "Groups ops into fusions, one kernel each", registeredFuse);
    registerPipeline("lower", "Lowers kernels and ops for a target", registeredLower);
    return true;
  }();
}

} // namespace tilewright::driver
