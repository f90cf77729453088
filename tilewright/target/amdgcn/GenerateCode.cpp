#include "tilewright/target/amdgcn/GenerateCode.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/amdgcn/CodeObject.h"
#include "tilewright/target/amdgcn/Codegen.h"
#include "tilewright/target/amdgcn/lower/KernelLowering.h"
#include "tilewright/target/gpu/CodeUnit.h"
#include "tilewright/target/lanes/SourceLines.h"
#include "tilewright/target/lanes/Translate.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <optional>

using namespace llvm;

namespace tilewright::amdgcn {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::LLVM::LLVMDialect>();
  lanes::registerTranslation(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

namespace {
struct Unit : gpu::CodeUnit {
  std::optional<Result<std::string>> object;
};
} // namespace

Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options) {
  GpuCode result;
  if (module.getOps<sm::KernelOp>().empty())
    return result;
  auto unit = std::make_shared<Unit>();
  TILEWRIGHT_ASSIGN(unit->machine, createTargetMachine(chip));
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::OwningOpRef<mlir::ModuleOp> lowered =
      gpu::moduleForKernels(module, *unit->machine, registry);
  const AmdMachine machine(chip);
  TILEWRIGHT_ASSIGN(result.kernels, gpu::lowerKernels<gpu::KernelInfo>(
                                        module, *lowered, machine,
                                        [&](gpu::ThreadBuilder &builder, sm::KernelOp kernel,
                                            gpu::KernelInfo &info) {
                                          KernelLowering(builder, kernel, chip).lower(info);
                                        }));
  lanes::attachSourceLines(*lowered, lanes::LineEmission::LineTablesOnly);
  auto dumpIf = [&](std::string_view level, const auto &code) {
    if (options.dumpLevel == level)
      options.dump(gpu::textOf(code));
  };
  dumpIf("mlir", lowered->getOperation()[0]);
  TILEWRIGHT_TRY(
      gpu::translateKernels(*lowered, elementMachine(chip), *unit, [&](StringRef symbol) {
        return gpu::nameOfSymbol(result.kernels, symbol);
      }));
  StringMap<int64_t> threads;
  for (const gpu::KernelInfo &kernel : result.kernels)
    threads[kernel.symbol] = kernel.threads;
  markKernels(*unit->code, [&](StringRef symbol) { return threads.lookup(symbol); });
  dumpIf("llvm", *unit->code);
  if (!finishesInTime([unit] {
        trace::Span span("compile", "optimize kernels");
        optimize(*unit->code, *unit->machine);
      }))
    return WorkLimit::stopAt("the code of kernels");
  dumpIf("llvm-optimized", *unit->code);
  if (options.dumpLevel == "asm") {
    std::unique_ptr<Module> copy = CloneModule(*unit->code);
    TILEWRIGHT_ASSIGN(std::string text, emit(*copy, *unit->machine, CodeGenFileType::AssemblyFile));
    options.dump(text);
  }
  if (!finishesInTime([unit] {
        trace::Span span("compile", "emit machine code");
        unit->object.emplace(emit(*unit->code, *unit->machine, CodeGenFileType::ObjectFile));
      }))
    return WorkLimit::stopAt("the code of kernels");
  TILEWRIGHT_ASSIGN(const std::string object, *std::move(unit->object));
  TILEWRIGHT_ASSIGN(result.object, linkObject(object));
  TILEWRIGHT_ASSIGN(result.budgets, budgetsOf(result.object));
  return result;
}

} // namespace tilewright::amdgcn
