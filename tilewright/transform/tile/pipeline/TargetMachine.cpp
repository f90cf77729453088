#include "tilewright/transform/tile/pipeline/TargetMachine.h"

namespace tilewright::pipeline {

std::optional<Machine> machineOf(exec::TargetAttr target) {
  const exec::GpuAttr gpu = target.getGpu();
  const exec::MatrixAttr matrix = target.getMatrix();
  const exec::RatesAttr rates = target.getRates();
  // Kernels with channels are for warps of 32 lanes.
  if (!gpu || gpu.getWarpSize() != 32 || !matrix || !rates)
    return std::nullopt;
  // See NvidiaRates.def: a chip with tensor memory that multiplies s8 more slowly than f16 does so
  // with mma.sync.
  llvm::StringSet<> warpTypes;
  if (matrix.getUnit() == exec::MatrixUnit::tcgen05 && rates.getS8() < rates.getF16())
    warpTypes.insert("s8");
  return Machine{.chip = target.chipName().str(),
                 .processors = target.getUnits(),
                 .limits = {.sharedBytes = gpu.getSharedBytes(),
                            .tensorColumns = matrix.getTensorColumns(),
                            .registers = gpu.getRegisters(),
                            .maxRegisters = gpu.getMaxRegisters(),
                            .maxThreads = gpu.getMaxThreads(),
                            .movesRegisters = matrix.getRegistersMove()},
                 .matrixUnit = matrix.getUnit(),
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
