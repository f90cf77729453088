#include "tilewright/transform/tile/pipeline/TargetMachine.h"

namespace tilewright::pipeline {

std::optional<Machine> machineOf(exec::TargetAttr target) {
  const exec::GpuAttr gpu = target.getGpu();
  const exec::MatrixAttr matrix = target.getMatrix();
  const exec::RatesAttr rates = target.getRates();
  if (!gpu || !matrix || !rates)
    return std::nullopt;
  // See NvidiaRates.def: a chip with tensor memory that multiplies s8 more slowly than f16 does so
  // with mma.sync.
  llvm::StringSet<> warpTypes;
  if (matrix.getUnit() == exec::MatrixUnit::tcgen05 && rates.getS8() < rates.getF16())
    warpTypes.insert("s8");
  // The GPUs of AMD that multiply f4 (CDNA 4) also load 16 bytes of each lane past registers to
  // LDS.
  return Machine{.chip = target.chipName().str(),
                 .processors = target.getUnits(),
                 .limits = {.sharedBytes = gpu.getSharedBytes(),
                            .tensorColumns = matrix.getTensorColumns(),
                            .registers = gpu.getRegisters(),
                            .maxRegisters = gpu.getMaxRegisters(),
                            .maxThreads = gpu.getMaxThreads(),
                            .movesRegisters = matrix.getRegistersMove(),
                            .warpSize = gpu.getWarpSize()},
                 .matrixUnit = matrix.getUnit(),
                 .copiesToShared = gpu.getWarpSize() == 32 || rates.getF4() > 0,
                 .products = {{"f16", rates.getF16()},
                              {"bf16", rates.getF16()},
                              {"tf32", rates.getTf32()},
                              {"f8", rates.getF8()},
                              {"s8", rates.getS8()},
                              {"f4", rates.getF4()}},
                 .warpTypes = warpTypes,
                 .matrixLatency = rates.getMatrixLatency(),
                 .copyLatency = rates.getCopyLatency(),
                 .sharedBytesPerCycle = rates.getSharedBytesPerCycle(),
                 .l2BytesPerCycle = rates.getL2BytesPerCycle(),
                 .memoryBytesPerCycle = rates.getMemoryBytesPerCycle(),
                 .l2Bytes = rates.getL2Bytes(),
                 .cluster = rates.getCluster()};
}

} // namespace tilewright::pipeline
