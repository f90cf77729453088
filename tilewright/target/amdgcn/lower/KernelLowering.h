// KernelLowering: lowers one sm.kernel to a function of llvm and lane ops.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H

#include "tilewright/target/amdgcn/lower/AmdMachine.h"
#include "tilewright/target/amdgcn/lower/Mfma.h"
#include "tilewright/target/gpu/KernelLowering.h"

namespace tilewright::amdgcn {

/// Adds products by MFMA. Refused by name: channels, roles, clusters and windows.
class KernelLowering : public gpu::KernelLowering {
public:
  KernelLowering(ThreadBuilder &builder, sm::KernelOp op, const Chip &chip)
      : gpu::KernelLowering(builder, op), mfma(*this, chip) {}

  /// Failures are reported in the builder. `info.symbol` is the name of the function.
  void lower(gpu::KernelInfo &info);

private:
  bool isSupported();
  void makeFunction(const gpu::KernelInfo &info);
  bool lowerEngine(mlir::Operation *op) override;

  MfmaLowering mfma;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H
