#include "tilewright/target/AllTargets.h"

#include "tilewright/target/Passes.h"
#include "tilewright/target/amdgcn/AmdgcnTarget.h"
#include "tilewright/target/amdgcn/Passes.h"
#include "tilewright/target/cpu/CpuTarget.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/nvptx/NvptxTarget.h"
#include "tilewright/target/nvptx/Passes.h"

namespace tilewright::target {

void registerAllTargets() {
  [[maybe_unused]] static const bool once = [] {
    registerBackend(cpu::backend());
    registerBackend(nvptx::backend());
    registerBackend(amdgcn::backend());
    return true;
  }();
}

void registerAllTargetPasses() {
  registerTilewrightTargetPasses();
  cpu::registerTilewrightTargetCpuPasses();
  nvptx::registerTilewrightTargetNvptxPasses();
  amdgcn::registerTilewrightTargetAmdgcnPasses();
}

} // namespace tilewright::target
