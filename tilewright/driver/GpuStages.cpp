#include "tilewright/driver/Emit.h"
#include "tilewright/driver/TargetStages.h"
#include "tilewright/interpret/TileScalars.h"
#include "tilewright/support/TargetName.h"
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

artifact::TensorMap tensorMapOf(const nvptx::TensorMapInfo &info) {
  artifact::TensorMap map;
  map.buffer = static_cast<artifact::Index>(info.argument);
  map.element = interpret::signlessTypeOf(info.elementType).value_or(ElementType::f32);
  map.dims = info.dims;
  map.byteStrides = info.byteStrides;
  map.box = info.box;
  map.elementStrides.assign(info.dims.size(), 1);
  map.swizzle = info.swizzleBytes == 64 ? artifact::TensorMap::Swizzle::bytes64
                                        : artifact::TensorMap::Swizzle::bytes128;
  map.promotion = artifact::TensorMap::L2Promotion::bytes256;
  return map;
}

class GpuStages : public TargetStages {
public:
  GpuStages(const nvptx::Chip &chip, const CompileRequest &request)
      : chip(chip), request(request) {}

  void attach(ModuleOp module) override { nvptx::attachTarget(module, chip); }

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
  /// Machine code, if there is an assembler: a driver compiles the PTX otherwise. A GPU in software
  /// takes nothing but PTX, so that is assembled only for who wants to know how good it is.
  ///  - gpuBudget: a kernel needs more registers than a processor has.
  Status assemble(const nvptx::GpuCode &code, artifact::Executable &executable) {
    const Options &options = request.options;
    const bool inSoftware =
        TargetName::of(options.compile.target).machine == TargetName::Machine::virtualGpu;
    if (code.ptx.empty() || (inSoftware && !request.wantsRemarks))
      return Status();
    Result<nvptx::Ptxas> ptxas = nvptx::Ptxas::find();
    if (!ptxas.isOk())
      return Status();
    TILEWRIGHT_ASSIGN(nvptx::Assembled assembled,
                      ptxas->assemble(code.ptx, chip, options.compile.cacheDir));
    for (const nvptx::KernelInfo &kernel : code.kernels)
      for (const nvptx::KernelBudget &budget : assembled.kernels)
        if (budget.symbol == kernel.symbol)
          TILEWRIGHT_TRY(nvptx::checkLaunch(chip, kernel.name, kernel.threads, budget.registers));
    if (!inSoftware)
      executable.binary = std::move(assembled.binary);
    if (request.report) {
      request.report->budgets = std::move(assembled.kernels);
      request.report->assembler = ptxas->version();
    }
    return Status();
  }

  const nvptx::Chip &chip;
  const CompileRequest &request;
};

} // namespace

std::unique_ptr<TargetStages> createGpuStages(const CompileRequest &request) {
  const TargetName name = TargetName::of(request.options.compile.target);
  const nvptx::Chip *chip = name.isGpu() ? nvptx::chipNamed(name.chip) : nullptr;
  return chip ? std::make_unique<GpuStages>(*chip, request) : nullptr;
}

} // namespace tilewright::driver
