#include "tilewright/target/Passes.h"
#include "tilewright/target/Target.h"

using namespace mlir;

namespace tilewright::target {

void buildLowerPipeline(OpPassManager &passes, const Target &target,
                        llvm::function_ref<void(OpPassManager &)> addLayoutPasses) {
  target.addLowerPasses(passes);
  if (target.isGpu())
    addLayoutPasses(passes);
  passes.addPass(createVerifyLoweredPass());
}

} // namespace tilewright::target
