#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/lanes/SourceLines.h"
#include "tilewright/target/lanes/Translate.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/target/nvptx/LinkLibrary.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <optional>

using namespace llvm;

namespace tilewright::nvptx {

/// A unique symbol that is valid in PTX.
static std::string symbolFor(StringRef name, StringSet<> &taken) {
  std::string symbol;
  for (char c : name)
    symbol += isAlnum(c) || c == '_' || c == '$' ? c : '_';
  if (symbol.empty() || isDigit(symbol[0]))
    symbol = "k_" + symbol;
  std::string unique = symbol;
  for (int i = 1; !taken.insert(unique).second; ++i)
    unique = concat(symbol, "_", i);
  return unique;
}

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
/// Owns everything that LLVM uses, so that an abandoned compile thread can still finish safely.
struct Unit {
  std::unique_ptr<TargetMachine> machine;
  LLVMContext context;
  std::unique_ptr<Module> code;
  std::optional<Result<std::string>> ptx;
};

/// The code as text, for a dump.
template <typename Code> std::string textOf(const Code &code) {
  std::string text;
  raw_string_ostream(text) << code;
  return text;
}
} // namespace

/// Lowers the kernels to functions of `lowered`.
static Result<std::vector<KernelInfo>> lowerKernels(mlir::ModuleOp module, const Chip &chip,
                                                    mlir::ModuleOp lowered) {
  std::vector<KernelInfo> infos;
  ThreadBuilder builder(lowered);
  StringSet<> taken;
  for (sm::KernelOp kernel : module.getOps<sm::KernelOp>()) {
    if (WorkLimit::mustStop())
      return WorkLimit::stopAt(concat("kernel ", kernel.getSymName().str()));
    KernelInfo info;
    info.name = kernel.getSymName().str();
    info.symbol = symbolFor(info.name, taken);
    // Not info.name, which moves before the span ends.
    trace::Span span("compile", std::string_view(kernel.getSymName()));
    KernelLowering(builder, kernel, chip, multiprocessorsOf(module, chip)).lower(info);
    TILEWRIGHT_TRY(std::move(builder.failure).during(concat("compiling kernel ", info.name)));
    infos.push_back(std::move(info));
  }
#ifndef NDEBUG
  if (failed(mlir::verify(lowered)))
    return Status(Error::gpuCodegen, "the lowered kernels are invalid");
#endif
  return infos;
}

/// Translates the functions to LLVM IR.
static Status translateKernels(mlir::ModuleOp lowered, ArrayRef<KernelInfo> infos, Unit &unit) {
  trace::Span span("compile", "translate kernels");
  lanes::Translation made = lanes::translate(lowered, unit.context, elementMachine());
  unit.code = std::move(made.module);
  if (unit.code)
    return {};
  if (made.failure.isOk())
    return Status(Error::gpuCodegen,
                  concat("the lowered kernels cannot be translated to LLVM IR: ", made.problem));
  for (const KernelInfo &info : infos)
    if (info.symbol == made.function)
      return std::move(made.failure).during(concat("compiling kernel ", info.name));
  return std::move(made.failure);
}

Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options) {
  GpuCode result;
  if (module.getOps<sm::KernelOp>().empty())
    return result;
  auto unit = std::make_shared<Unit>();
  TILEWRIGHT_ASSIGN(
      unit->machine,
      createTargetMachine(chip, options.deviceLibrary.empty() ? 0 : libraryPtxVersion));
  mlir::MLIRContext *context = module.getContext();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
  mlir::OwningOpRef<mlir::ModuleOp> lowered = mlir::ModuleOp::create(module.getLoc());
  mlir::Builder attributes(context);
  (*lowered)->setAttr(mlir::LLVM::LLVMDialect::getTargetTripleAttrName(),
                      attributes.getStringAttr(unit->machine->getTargetTriple().str()));
  (*lowered)->setAttr(
      mlir::LLVM::LLVMDialect::getDataLayoutAttrName(),
      attributes.getStringAttr(unit->machine->createDataLayout().getStringRepresentation()));
  TILEWRIGHT_ASSIGN(result.kernels, lowerKernels(module, chip, *lowered));
  lanes::attachSourceLines(*lowered);
  if (options.dumpLevel == "nvvm")
    options.dump(textOf(lowered->getOperation()[0]));
  TILEWRIGHT_TRY(translateKernels(*lowered, result.kernels, *unit));
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
