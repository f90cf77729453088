#include "tilewright/driver/Emit.h"
#include "tilewright/driver/TargetStages.h"
#include "tilewright/interpret/TileScalars.h"
#include "tilewright/target/nvptx/Chip.h"
#include "tilewright/target/nvptx/Passes.h"
#include "tilewright/target/nvptx/Ptxas.h"
#include "tilewright/target/nvptx/Target.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include <cstring>

using namespace mlir;

namespace tilewright::driver {
namespace {

using numerics::ElementType;

/// A name such as "vgpu:sm_90a" is the chip behind the colon: code for a GPU in software is the
/// same.
std::string_view chipOf(std::string_view target) {
  constexpr std::string_view prefix = "vgpu:";
  return target.starts_with(prefix) ? target.substr(prefix.size()) : target;
}

artifact::TensorMap tensorMapOf(const nvptx::TensorMapInfo &info) {
  artifact::TensorMap map;
  map.buffer = static_cast<artifact::Index>(info.argument);
  map.element = interpret::signlessTypeOf(info.elementType).value_or(ElementType::f32);
  map.dims = info.dims;
  map.byteStrides = info.byteStrides;
  map.box = info.box;
  map.elementStrides.assign(info.dims.size(), 1);
  map.swizzle = artifact::TensorMap::Swizzle::bytes128;
  map.promotion = artifact::TensorMap::L2Promotion::bytes256;
  return map;
}

class GpuStages : public TargetStages {
public:
  GpuStages(const nvptx::Chip &chip, const Options &options) : chip(chip), options(options) {}

  void attach(ModuleOp module) override {
    nvptx::attachTarget(module, chip,
                        std::clamp<int64_t>(options.compile.processors, 0, chip.processors));
  }

  void addLowerPasses(OpPassManager &passes) override {
    passes.addPass(nvptx::createNvptxVerifyOpsPass());
    // Products that can be made of roles and channels first; all other kernels get layouts as they
    // are.
    passes.addPass(tile::createTilePipelinePass());
    passes.addPass(solve::createSolveLayoutsPass());
  }

  Result<artifact::Executable> generate(ModuleOp module) override {
    TILEWRIGHT_ASSIGN(nvptx::GpuCode code, nvptx::generateCode(module, chip));
    llvm::StringMap<KernelFacts> facts;
    for (const nvptx::KernelInfo &kernel : code.kernels) {
      artifact::GpuLaunch launch;
      for (size_t i = 0; i < 3; ++i) {
        launch.grid[i] = static_cast<uint32_t>(kernel.grid[i]);
        launch.cluster[i] = static_cast<uint32_t>(kernel.cluster[i]);
      }
      launch.block[0] = static_cast<uint32_t>(kernel.threads);
      launch.sharedBytes = static_cast<uint32_t>(kernel.sharedBytes);
      for (const nvptx::TensorMapInfo &map : kernel.tensorMaps)
        launch.tensorMaps.push_back(tensorMapOf(map));
      facts[kernel.name] = {.symbol = kernel.symbol, .gpu = std::move(launch)};
    }
    TILEWRIGHT_ASSIGN(artifact::Executable executable, emitExecutable(module, facts));
    const auto *text = reinterpret_cast<const std::byte *>(code.ptx.data());
    executable.object.assign(text, text + code.ptx.size());
    TILEWRIGHT_TRY(assemble(code, executable));
    executable.target.triple = nvptx::triple;
    executable.target.cpu = chip.name;
    return executable;
  }

private:
  /// Machine code, if there is an assembler: a driver compiles the PTX otherwise, and a GPU in
  /// software takes nothing else.
  Status assemble(const nvptx::GpuCode &code, artifact::Executable &executable) {
    if (code.ptx.empty() || options.compile.target.starts_with("vgpu:"))
      return Status();
    Result<nvptx::Ptxas> ptxas = nvptx::Ptxas::find();
    if (!ptxas.isOk())
      return Status();
    TILEWRIGHT_ASSIGN(nvptx::Assembled assembled, ptxas->assemble(code.ptx, chip));
    executable.binary = std::move(assembled.binary);
    return Status();
  }

  const nvptx::Chip &chip;
  const Options &options;
};

} // namespace

std::unique_ptr<TargetStages> createGpuStages(const Options &options) {
  const nvptx::Chip *chip = nvptx::chipNamed(chipOf(options.compile.target));
  return chip ? std::make_unique<GpuStages>(*chip, options) : nullptr;
}

} // namespace tilewright::driver
