#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/CodeUnit.h"
#include "tilewright/target/lanes/SourceLines.h"
#include "tilewright/target/lanes/Translate.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/target/nvptx/LinkLibrary.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

#include <optional>

using namespace llvm;

namespace tilewright::nvptx {

Status checkLaunch(const Chip &chip, std::string_view kernel, int64_t threads, int64_t registers) {
  // Registers are allocated to warps in units of 256.
  const int64_t warps = (threads + Chip::warpSize - 1) / Chip::warpSize;
  const int64_t needed = warps * int64_t(alignTo(uint64_t(registers * Chip::warpSize), 256));
  if (needed <= Chip::registersPerMultiprocessor)
    return {};
  return Status(Error::gpuBudget,
                concat("kernel ", kernel, " needs ", registers, " registers for each of ", threads,
                       " threads, ", needed, " in total, but a multiprocessor of ", chip.name,
                       " has ", Chip::registersPerMultiprocessor,
                       "; use fewer warps or smaller tiles"));
}

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::LLVM::LLVMDialect, mlir::NVVM::NVVMDialect>();
  lanes::registerTranslation(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

namespace {
struct Unit : CodeUnit {
  std::optional<Result<std::string>> ptx;
};
} // namespace

Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options) {
  GpuCode result;
  if (module.getOps<sm::KernelOp>().empty())
    return result;
  auto unit = std::make_shared<Unit>();
  TILEWRIGHT_ASSIGN(
      unit->machine,
      createTargetMachine(chip, options.deviceLibrary.empty() ? 0 : libraryPtxVersion));
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::OwningOpRef<mlir::ModuleOp> lowered = moduleForKernels(module, *unit->machine, registry);
  const PtxMachine machine(chip);
  TILEWRIGHT_ASSIGN(
      result.kernels,
      lowerKernels<KernelInfo>(
          module, *lowered, machine,
          [&](ThreadBuilder &builder, sm::KernelOp kernel, KernelInfo &info) {
            KernelLowering(builder, kernel, chip, multiprocessorsOf(module, chip)).lower(info);
          }));
  lanes::attachSourceLines(*lowered, lanes::LineEmission::DebugDirectivesOnly);
  if (options.dumpLevel == "nvvm")
    options.dump(textOf(lowered->getOperation()[0]));
  TILEWRIGHT_TRY(translateKernels(*lowered, elementMachine(), *unit, [&](StringRef symbol) {
    return nameOfSymbol(result.kernels, symbol);
  }));
  TILEWRIGHT_TRY(linkLibrary(*unit->code, options.deviceLibrary));
  auto dumpIf = [&](std::string_view level) {
    if (options.dumpLevel == level)
      options.dump(textOf(*unit->code));
  };
  dumpIf("llvm");
  if (!finishesInTime([unit] {
        trace::Span span("compile", "optimize kernels");
        optimize(*unit->code, *unit->machine);
      }))
    return WorkLimit::stopAt("the code of kernels");
  dumpIf("llvm-optimized");
  TILEWRIGHT_TRY(checkNoPairs(*unit->code));
  if (!finishesInTime([unit] {
        trace::Span span("compile", "emit PTX");
        unit->ptx.emplace(emitPtx(*unit->code, *unit->machine));
      }))
    return WorkLimit::stopAt("the code of kernels");
  TILEWRIGHT_ASSIGN(result.ptx, *std::move(unit->ptx));
  if (options.dumpLevel == "ptx")
    options.dump(result.ptx);
  return result;
}

} // namespace tilewright::nvptx
