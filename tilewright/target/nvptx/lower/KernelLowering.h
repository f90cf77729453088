// KernelLowering: lowers one sm.kernel to a function of llvm, nvvm and lane ops.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H

#include "tilewright/target/gpu/KernelLowering.h"
#include "tilewright/target/nvptx/lower/Windows.h"
#include "tilewright/target/nvptx/lower/channels/AsyncCopies.h"
#include "tilewright/target/nvptx/lower/channels/Channels.h"
#include "tilewright/target/nvptx/lower/channels/Roles.h"
#include "tilewright/target/nvptx/lower/channels/Stealing.h"
#include "tilewright/target/nvptx/lower/channels/Stores.h"
#include "tilewright/target/nvptx/lower/channels/Tma.h"
#include "tilewright/target/nvptx/lower/matrix/Fragments.h"
#include "tilewright/target/nvptx/lower/matrix/MmaSync.h"
#include "tilewright/target/nvptx/lower/matrix/RegisterOperand.h"
#include "tilewright/target/nvptx/lower/matrix/Tcgen05.h"
#include "tilewright/target/nvptx/lower/matrix/Wgmma.h"

namespace tilewright::nvptx {

/// Adds what only NVIDIA has: roles and channels with the copy engine, matrix instructions, and
/// windows.
class KernelLowering : public gpu::KernelLowering {
public:
  /// A persistent kernel launches at most one CTA per multiprocessor.
  KernelLowering(ThreadBuilder &builder, sm::KernelOp op, const Chip &chip, int64_t multiprocessors)
      : gpu::KernelLowering(builder, op), chip(chip), multiprocessors(multiprocessors) {}

  /// Failures are reported in the builder. `info.symbol` is the name of the function.
  void lower(KernelInfo &info);
  void complete(Value tile, mlir::Operation *user) override;
  void copyForm(Value from, Value to) override;
  void copyFlight(Value from, Value to) override;
  llvm::SmallVector<int64_t> beginLoop(mlir::scf::ForOp loop) override;
  void endLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> before) override;
  void passBorder(mlir::scf::IfOp branch) override;
  void beforeMap(tile::MapOp map) override;
  void afterMap(tile::MapOp map) override;
  Value windowPart(Value window, Value rank) override;
  /// The number of clusters that the launch of a persistent kernel has, unless it steals points.
  int64_t clusterCount() const { return clusters; }

  const Chip &chip;
  const int64_t multiprocessors;
  AsyncCopiesLowering asyncCopies{*this};
  ChannelsLowering channels{*this};
  FragmentsLowering fragments{*this};
  MmaSyncLowering mmaSync{*this};
  RegisterOperandLowering registerOperand{*this};
  RolesLowering roles{*this};
  StealingLowering stealing{*this};
  StoresLowering stores{*this};
  Tcgen05Lowering tcgen05{*this};
  TmaLowering tma{*this};
  WgmmaLowering wgmma{*this};
  WindowsLowering windows{*this};

private:
  void makeFunction(const KernelInfo &info);
  void beginPoint(KernelInfo &info);
  bool prepare(mlir::Operation *op) override;
  bool lowerEngine(mlir::Operation *op) override;
  void lowerPersistent(gpu::KernelInfo &info, int64_t count) override;
  void completeOperands(mlir::Operation *op);
  void lowerCopy(sm::CopyOp copy);
  void lowerMma(sm::MmaOp mma);

  int64_t clusters = 0;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H
