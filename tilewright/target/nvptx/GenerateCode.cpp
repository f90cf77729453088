#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/target/nvptx/Codegen.h"
#include "tilewright/target/nvptx/Target.h"
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace tilewright::nvptx {

/// A name that PTX takes, and that nobody has yet.
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
  // Registers are given to warps in units of 256.
  const int64_t warps = (threads + chip.warpSize - 1) / chip.warpSize;
  const int64_t needed = warps * int64_t(alignTo(uint64_t(registers * chip.warpSize), 256));
  if (needed <= chip.registers)
    return {};
  return Status(Error::gpuBudget,
                concat("kernel ", kernel, " needs ", registers, " registers in each of ", threads,
                       " threads, ", needed, " in all, and a multiprocessor of ", chip.name,
                       " has ", chip.registers, "; take fewer warps or smaller tiles"));
}

Result<GpuCode> generateCode(mlir::ModuleOp module, const Chip &chip,
                             const CodegenOptions &options) {
  GpuCode result;
  SmallVector<sm::KernelOp> kernels(module.getOps<sm::KernelOp>());
  if (kernels.empty())
    return result;
  std::unique_ptr<TargetMachine> machine;
  TILEWRIGHT_ASSIGN(machine, createTargetMachine(chip));
  LLVMContext context;
  Module code("kernels", context);
  code.setTargetTriple(machine->getTargetTriple());
  code.setDataLayout(machine->createDataLayout());
  LaneBuilder builder(code, chip.machine());
  StringSet<> taken;
  for (sm::KernelOp kernel : kernels) {
    KernelInfo info;
    info.name = kernel.getSymName().str();
    info.symbol = symbolFor(info.name, taken);
    trace::Span span("compile", info.name);
    KernelEmitter(builder, kernel, chip, processorsOf(module, chip)).emit(info);
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
    return Status(Error::gpuCodegen, concat("the code is malformed: ", problem));
#endif
  {
    trace::Span span("compile", "optimize kernels");
    optimize(code, *machine);
  }
  dumpIf("llvm-optimized");
  TILEWRIGHT_TRY(checkNoPairs(code));
  trace::Span span("compile", "emit PTX");
  TILEWRIGHT_ASSIGN(result.ptx, emitPtx(code, *machine));
  if (options.dumpLevel == "ptx")
    options.dump(result.ptx);
  return result;
}

} // namespace tilewright::nvptx
