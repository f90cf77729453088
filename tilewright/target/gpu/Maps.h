// Scalars, maps, views and iotas.
#ifndef TILEWRIGHT_TARGET_GPU_MAPS_H
#define TILEWRIGHT_TARGET_GPU_MAPS_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/gpu/OpGroup.h"

namespace tilewright::gpu {

/// Applies scalar code to registers; a view only renames registers.
class MapsLowering : public OpGroup {
public:
  explicit MapsLowering(KernelLowering &all) : OpGroup(all) {}

  void scalar(mlir::Operation *op);
  void map(tile::MapOp map);
  void view(tile::ViewOp view);
  void iota(tile::IotaOp iota);

private:
  /// Multiplies the first number of each application by the second, unless these are 1 in all lanes
  /// of the warp.
  llvm::SmallVector<llvm::SmallVector<Lanes, 2>>
  scaleRarely(Block &body, llvm::ArrayRef<llvm::SmallVector<Lanes>> applications);
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_MAPS_H
