#include "tilewright/target/amdgcn/Chip.h"

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace mlir;

namespace tilewright::amdgcn {

const std::vector<Chip> &chips() {
  static const std::vector<Chip> rows(tilewright::chips::amdChips().begin(),
                                      tilewright::chips::amdChips().end());
  return rows;
}

const Chip *chipNamed(std::string_view name) { return tilewright::chips::findAmdChip(name); }

lanes::Machine elementMachine(const Chip &chip) {
  return {.hasFma = true,
          .hasHalf = true,
          .hasBfloat = chip.convertsBfloat,
          .hasGather = false,
          .hasMasks = false,
          .hasLibrary = false,
          .fastExp2 = llvm::Intrinsic::amdgcn_exp2,
          .vectorBytes = 0,
          .refusal = Error::gpuScalarOp};
}

/// Waves hold the operands of MFMA in registers, as warps do those of mma.sync.
static exec::MatrixAttr matrixOf(MLIRContext *context, const Chip &chip) {
  SmallVector<StringRef> names;
  StringRef(chip.matrixTypes).split(names, ' ');
  SmallVector<Attribute> types;
  for (StringRef name : names)
    types.push_back(TypeAttr::get(parseType(name, context)));
  return exec::MatrixAttr::get(context, exec::MatrixUnit::mma, ArrayAttr::get(context, types),
                               /*registers_move=*/false, /*tensor_columns=*/0);
}

void attachTarget(ModuleOp module, const Chip &chip, int64_t computeUnits) {
  MLIRContext *context = module.getContext();
  context->loadDialect<exec::ExecDialect>();
  const tilewright::chips::AmdRates &r = ratesOf(chip);
  auto rates = exec::RatesAttr::get(context, r.f16, r.tf32, r.f8, r.s8, r.f4, r.matrixLatency,
                                    r.copyLatency, r.lds, r.l2, r.memory, r.l2Bytes, /*cluster=*/1);
  // A thread may have all 512 registers of a lane, but then a SIMD holds one wave. Layouts are
  // chosen for two waves.
  constexpr int64_t maxRegisters = Chip::registersPerSimd / 2;
  auto gpu = exec::GpuAttr::get(
      context, /*warpSize=*/Chip::waveSize, /*maxThreads=*/Chip::threadsPerBlock,
      /*registers=*/int64_t(Chip::simdsPerUnit) * Chip::registersPerSimd * Chip::waveSize,
      maxRegisters, /*sharedBytes=*/chip.ldsPerUnit, /*sectorBytes=*/Chip::sectorBytes);
  // 32 registers in each of 256 threads.
  constexpr int64_t tileElements = 8192;
  const int64_t units = computeUnits ? computeUnits : int64_t(chip.computeUnits);
  exec::setTarget(module, exec::TargetAttr::get(context, chip.name, units, tileElements, gpu,
                                                matrixOf(context, chip), rates));
}

const Chip *targetOf(ModuleOp module) { return chipNamed(exec::targetOf(module).chipName()); }

} // namespace tilewright::amdgcn
