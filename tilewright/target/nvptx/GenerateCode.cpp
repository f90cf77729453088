#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Verifier.h"

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

namespace {
/// Owns everything that LLVM uses, so that an abandoned compile thread can still finish safely.
struct Unit {
  Unit() : code("kernels", context), builder(code, elementMachine()) {}
  std::unique_ptr<TargetMachine> machine;
  LLVMContext context;
  Module code;
  LaneBuilder builder;
  std::optional<Result<std::string>> ptx;
};
} // namespace

Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options) {
  GpuCode result;
  SmallVector<sm::KernelOp> kernels(module.getOps<sm::KernelOp>());
  if (kernels.empty())
    return result;
  auto unit = std::make_shared<Unit>();
  TILEWRIGHT_ASSIGN(unit->machine, createTargetMachine(chip));
  Module &code = unit->code;
  code.setTargetTriple(unit->machine->getTargetTriple());
  code.setDataLayout(unit->machine->createDataLayout());
  LaneBuilder &builder = unit->builder;
  StringSet<> taken;
  for (sm::KernelOp kernel : kernels) {
    if (WorkLimit::mustStop())
      return WorkLimit::stopAt(concat("kernel ", kernel.getSymName().str()));
    KernelInfo info;
    info.name = kernel.getSymName().str();
    info.symbol = symbolFor(info.name, taken);
    trace::Span span("compile", info.name);
    KernelEmitter(builder, kernel, chip, multiprocessorsOf(module, chip)).emit(info);
    TILEWRIGHT_TRY(std::move(builder.failure).during(concat("compiling kernel ", info.name)));
    result.kernels.push_back(std::move(info));
  }
  auto dumpIf = [&](std::string_view level) {
    if (options.dumpLevel != level)
      return;
    std::string text;
    raw_string_ostream(text) << code;
    options.dump(text);
  };
  dumpIf("llvm");
#ifndef NDEBUG
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(code, &stream))
    return Status(Error::gpuCodegen, concat("the generated LLVM IR is invalid: ", problem));
#endif
  if (!finishesInTime([unit] {
        trace::Span span("compile", "optimize kernels");
        optimize(unit->code, *unit->machine);
      }))
    return WorkLimit::stopAt("the code of kernels");
  dumpIf("llvm-optimized");
  TILEWRIGHT_TRY(checkNoPairs(code));
  if (!finishesInTime([unit] {
        trace::Span span("compile", "emit PTX");
        unit->ptx.emplace(emitPtx(unit->code, *unit->machine));
      }))
    return WorkLimit::stopAt("the code of kernels");
  TILEWRIGHT_ASSIGN(result.ptx, *std::move(unit->ptx));
  if (options.dumpLevel == "ptx")
    options.dump(result.ptx);
  return result;
}

} // namespace tilewright::nvptx
