// KernelLowering: lowers one sm.kernel to a function of llvm and lane ops.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H

#include "tilewright/target/amdgcn/lower/AmdMachine.h"
#include "tilewright/target/amdgcn/lower/Channels.h"
#include "tilewright/target/amdgcn/lower/Copies.h"
#include "tilewright/target/amdgcn/lower/SlotLoads.h"
#include "tilewright/target/gpu/KernelLowering.h"

namespace tilewright::amdgcn {

/// Adds products by MFMA and channels in LDS. Refused by name: roles, clusters and windows.
class KernelLowering : public gpu::KernelLowering {
public:
  KernelLowering(ThreadBuilder &builder, sm::KernelOp op, const Chip &chip)
      : gpu::KernelLowering(builder, op), mfma(*this, chip), channels(*this, chip),
        copies(*this, channels, chip), slotLoads(*this, mfma, chip) {}

  /// Failures are reported in the builder. `info.symbol` is the name of the function.
  void lower(gpu::KernelInfo &info);

private:
  bool isSupported();
  void makeFunction(const gpu::KernelInfo &info);
  bool prepare(mlir::Operation *op) override;
  bool lowerEngine(mlir::Operation *op) override;
  void lowerCopy(sm::CopyOp copy);
  void complete(Value tile, mlir::Operation *user) override;
  void copyForm(Value from, Value to) override;
  llvm::SmallVector<int64_t> beginLoop(mlir::scf::ForOp loop) override;
  void endLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> before) override;

  MfmaLowering mfma;
  ChannelsLowering channels;
  CopiesLowering copies;
  SlotLoadsLowering slotLoads;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_KERNELLOWERING_H
