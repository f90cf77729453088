// distribute-choose-mesh and distribute-split wrap chooseMesh() and split() as passes; the pipeline
// runs them.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/Passes.h"
#include "tilewright/transform/distribute/RankMesh.h"
#include "tilewright/transform/distribute/Split.h"

using namespace mlir;

namespace tilewright::distribute {
#define GEN_PASS_DEF_CHOOSEMESHPASS
#define GEN_PASS_DEF_SPLITPASS
#include "tilewright/transform/distribute/Passes.h.inc"

/// Reports the status at the module, with the error's id, by which the driver recognises it.
static void report(ModuleOp module, const Status &status) {
  module.emitError() << (status.error()
                             ? concat(idOf(*status.error()), " ", stageOf(*status.error()), ": ")
                             : std::string())
                     << status.message();
}

/// Reads "data=2".
static FailureOr<MeshAxis> axisOf(ModuleOp module, StringRef text) {
  auto [name, size] = text.rsplit('=');
  MeshAxis axis{name.str(), 0};
  if (!name.empty() && !size.getAsInteger(10, axis.size) && axis.size > 0)
    return axis;
  module.emitError("expects an axis of the mesh as name=size, such as data=2, got '")
      << text << "'";
  return failure();
}

namespace {

struct ChooseMesh : impl::ChooseMeshPassBase<ChooseMesh> {
  using ChooseMeshPassBase::ChooseMeshPassBase;
  void runOnOperation() override {
    std::vector<MeshAxis> axes;
    for (const std::string &text : mesh) {
      FailureOr<MeshAxis> axis = axisOf(getOperation(), text);
      if (failed(axis))
        return signalPassFailure();
      axes.push_back(*axis);
    }
    const interpret::RankGrid grid = gridOf(getOperation(), replicas, partitions);
    // Only an attribute of the module changes, so the IR need not be verified again.
    markAllAnalysesPreserved();
    if (Status status = chooseMesh(getOperation(), std::move(axes), grid.replicas, grid.partitions);
        !status.isOk()) {
      report(getOperation(), status);
      signalPassFailure();
    }
  }
};

struct SplitProgram : impl::SplitPassBase<SplitProgram> {
  using SplitPassBase::SplitPassBase;
  void runOnOperation() override {
    const int64_t count = gridOf(getOperation(), /*replicas=*/0, partitions).partitions;
    if (Status status = split(getOperation(), count, memoryLimit); !status.isOk()) {
      report(getOperation(), status);
      signalPassFailure();
    }
  }
};

} // namespace

void buildDistributePipeline(OpPassManager &passes, const DistributeOptions &options,
                             llvm::function_ref<void(OpPassManager &)> addPreparation) {
  // Choose the mesh first: later passes erase the program's own meshes.
  ChooseMeshPassOptions choosing;
  for (const MeshAxis &axis : options.mesh)
    choosing.mesh.push_back(concat(axis.name, "=", axis.size));
  choosing.replicas = options.replicas;
  choosing.partitions = options.partitions;
  passes.addPass(createChooseMeshPass(std::move(choosing)));
  if (options.partitions != 1) {
    addPreparation(passes);
    passes.addPass(
        createSplitPass({.partitions = options.partitions, .memoryLimit = options.memoryLimit}));
  }
  passes.addPass(createVerifyDistributedPass(
      {.replicas = options.replicas, .partitions = options.partitions}));
}

} // namespace tilewright::distribute
