// KernelLowering: lowers one sm.kernel to a function of llvm, nvvm and lane ops.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H

#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/target/nvptx/lower/Control.h"
#include "tilewright/target/nvptx/lower/Conversions.h"
#include "tilewright/target/nvptx/lower/Maps.h"
#include "tilewright/target/nvptx/lower/Memory.h"
#include "tilewright/target/nvptx/lower/Reductions.h"
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

/// Lowers the kernel's ops in order. Each group of ops has a class.
class KernelLowering {
public:
  /// A persistent kernel launches at most one CTA per multiprocessor.
  KernelLowering(ThreadBuilder &builder, sm::KernelOp op, const Chip &chip, int64_t multiprocessors)
      : kernel(builder, op, chip), multiprocessors(multiprocessors) {}

  /// Failures are reported in the builder. `info.symbol` is the name of the function.
  void lower(KernelInfo &info);
  void lowerOps(Block &block);
  void lowerOp(mlir::Operation *op);
  /// Makes a tile usable for every op: waits for the wgmma that computes it, and unpacks words.
  void complete(Value tile);
  /// Computes the coordinates of point number `point` in the kernel's raster order.
  void lowerCoordinatesOf(Value point);
  /// The number of clusters that the launch of a persistent kernel has, unless it steals points.
  int64_t clusterCount() const { return clusters; }

  KernelState kernel;
  const int64_t multiprocessors;
  AsyncCopiesLowering asyncCopies{*this};
  ChannelsLowering channels{*this};
  ControlLowering control{*this};
  ConversionsLowering conversions{*this};
  FragmentsLowering fragments{*this};
  MapsLowering maps{*this};
  MemoryLowering memory{*this};
  MmaSyncLowering mmaSync{*this};
  ReductionsLowering reductions{*this};
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
  void lowerCoordinates(KernelInfo &info);
  void completeOperands(mlir::Operation *op);
  void lowerCopy(sm::CopyOp copy);
  void lowerMma(sm::MmaOp mma);

  ThreadBuilder &b = kernel.b;
  int64_t clusters = 0;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELLOWERING_H
