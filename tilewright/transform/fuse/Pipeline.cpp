#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::fuse {
namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/fuse/Passes.h.inc"

struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  FuseOptions defaults;
  Option<int64_t> maxOps{*this, "max-ops", llvm::cl::desc("Most ops in one fusion"),
                         llvm::cl::init(defaults.maxOps)};
  Option<int64_t> maxOperands{*this, "max-operands",
                              llvm::cl::desc("Most inputs and outputs of one fusion"),
                              llvm::cl::init(defaults.maxOperands)};
  Option<int64_t> splitReduceElements{
      *this, "split-reduce-elements",
      llvm::cl::desc("Fewest elements of a reduction that is split"),
      llvm::cl::init(defaults.splitReduceElements)};
};
} // namespace

void buildFusePipeline(OpPassManager &passes, const FuseOptions &options) {
  // The private functions that are left say what composites mean; they do not run.
  OpPassManager &functions = passes.nest<func::FuncOp>();
  SplitReducePassOptions splitting;
  splitting.minElements = options.splitReduceElements;
  functions.addPass(createSplitReducePass(splitting));
  FusePassOptions fusing;
  fusing.maxOps = options.maxOps;
  fusing.maxOperands = options.maxOperands;
  functions.addPass(createFusePass(fusing));
  functions.addPass(createVerifyFusedPass());
  functions.addPass(createFuseProductsPass());
}

void registerFusePasses() {
  registerSplitReducePass();
  registerFusePass();
  registerFuseProductsPass();
  registerVerifyFusedPass();
  registerPrintFusionsPass();
  static PassPipelineRegistration<PipelineOptions> pipeline(
      "fuse", "Groups ops into kernels-to-be",
      [](OpPassManager &passes, const PipelineOptions &given) {
        FuseOptions options;
        options.maxOps = given.maxOps;
        options.maxOperands = given.maxOperands;
        options.splitReduceElements = given.splitReduceElements;
        buildFusePipeline(passes, options);
      });
}

} // namespace tilewright::fuse
