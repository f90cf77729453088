#include "tilewright/target/nvptx/Chip.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;

namespace tilewright::nvptx {

const std::vector<Chip> &chips() { return tilewright::chips::nvidiaChips(Chip::Use::compile); }

const Chip *chipNamed(std::string_view name) {
  return tilewright::chips::findNvidiaChip(name, Chip::Use::compile);
}

lanes::Machine elementMachine() {
  return {.hasFma = true,
          .hasHalf = true,
          .hasBfloat = true,
          .hasGather = false,
          .hasMasks = false,
          .hasLibrary = false,
          .fastExp2 = llvm::Intrinsic::nvvm_ex2_approx_ftz,
          .fastDivide = llvm::Intrinsic::nvvm_div_full,
          .fastRsqrt = llvm::Intrinsic::nvvm_rsqrt_approx_f,
          .fastReciprocal = llvm::Intrinsic::nvvm_rcp_approx_ftz_f,
          .saturate = llvm::Intrinsic::nvvm_saturate_f,
          .vectorBytes = 0,
          .refusal = Error::gpuScalarOp};
}

static exec::MatrixUnit matrixUnitOf(MatrixUnit unit) {
  switch (unit) {
  case MatrixUnit::mma:
    return exec::MatrixUnit::mma;
  case MatrixUnit::wgmma:
    return exec::MatrixUnit::wgmma;
  case MatrixUnit::tcgen05:
    return exec::MatrixUnit::tcgen05;
  }
  llvm_unreachable("unknown matrix unit");
}

static exec::MatrixAttr matrixOf(MLIRContext *context, const Chip &chip) {
  SmallVector<StringRef> names;
  StringRef(chip.matrixTypes).split(names, ' ');
  SmallVector<Attribute> types;
  // Only those that `lower/matrix` emits instructions for; stages convert the others.
  for (StringRef name : names)
    if (Type type = parseType(name, context); type.getIntOrFloatBitWidth() >= 8)
      types.push_back(TypeAttr::get(type));
  return exec::MatrixAttr::get(context, matrixUnitOf(chip.matrix), ArrayAttr::get(context, types),
                               chip.rates->movesRegisters, chip.rates->tensorColumns);
}

void attachTarget(ModuleOp module, const Chip &chip, int64_t multiprocessors) {
  MLIRContext *context = module.getContext();
  context->loadDialect<exec::ExecDialect>();
  assert(chip.rates && "ChipsTest checks that chips that we compile for have rates");
  const chips::NvidiaRates &r = *chip.rates;
  auto rates = exec::RatesAttr::get(context, r.f16, r.tf32, r.f8, r.s8, r.f4, r.matrixLatency,
                                    r.copyLatency, r.shared, r.l2, r.memory, r.l2Bytes, r.cluster);
  auto gpu = exec::GpuAttr::get(context, /*warpSize=*/Chip::warpSize,
                                /*maxThreads=*/Chip::threadsPerBlock,
                                /*registers=*/Chip::registersPerMultiprocessor,
                                /*maxRegisters=*/Chip::registersPerThread,
                                /*sharedBytes=*/chip.sharedPerBlockOptin,
                                /*sectorBytes=*/Chip::sectorBytes);
  // 32 registers in each of 256 threads.
  constexpr int64_t tileElements = 8192;
  const int64_t units = multiprocessors ? multiprocessors : int64_t(chip.multiprocessors);
  exec::setTarget(module, exec::TargetAttr::get(context, chip.name, units, tileElements, gpu,
                                                matrixOf(context, chip), rates));
}

const Chip *targetOf(ModuleOp module) { return chipNamed(exec::targetOf(module).chipName()); }

int64_t multiprocessorsOf(ModuleOp module, const Chip &chip) {
  const exec::TargetAttr target = exec::targetOf(module);
  return target.isGpu() ? target.getUnits() : int64_t(chip.multiprocessors);
}

} // namespace tilewright::nvptx
