// KernelLowering: lowers one sm.kernel to a function of llvm and lane ops and of the vendor's.
#ifndef TILEWRIGHT_TARGET_GPU_KERNELLOWERING_H
#define TILEWRIGHT_TARGET_GPU_KERNELLOWERING_H

#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/target/gpu/Control.h"
#include "tilewright/target/gpu/Conversions.h"
#include "tilewright/target/gpu/KernelInfo.h"
#include "tilewright/target/gpu/Maps.h"
#include "tilewright/target/gpu/Memory.h"
#include "tilewright/target/gpu/Reductions.h"

namespace tilewright::gpu {

/// Lowers the kernel's ops in order. Each group of ops has a class; those of channels and matrix
/// instructions are the vendor's, whose class derives from this one.
class KernelLowering {
public:
  KernelLowering(ThreadBuilder &builder, sm::KernelOp op) : kernel(builder, op) {}
  virtual ~KernelLowering();

  void lowerOps(Block &block);
  void lowerOp(mlir::Operation *op);
  /// Computes the coordinates of point number `point` in the kernel's raster order.
  void lowerCoordinatesOf(Value point);

  // --- The vendor's part ---
  /// Makes a tile usable for every op: waits, before `user`, for the matrix instruction that
  /// computes it, and unpacks words.
  virtual void complete(Value /*tile*/, mlir::Operation * /*user*/) {}
  /// Called around each map, before its operands are read and when its results are there.
  virtual void beforeMap(tile::MapOp) {}
  virtual void afterMap(tile::MapOp) {}
  /// The tile `to` has its elements in the same form as `from`.
  virtual void copyForm(Value /*from*/, Value /*to*/) {}
  /// The tile `to` is being computed if `from` is.
  virtual void copyFlight(Value /*from*/, Value /*to*/) {}
  /// Returns the state of channels that the loop's body must restore, and drops assumptions that do
  /// not hold for later iterations.
  virtual llvm::SmallVector<int64_t> beginLoop(mlir::scf::ForOp) { return {}; }
  virtual void endLoop(mlir::scf::ForOp, llvm::ArrayRef<int64_t> /*before*/) {}
  /// Called at the start of each side of a branch, and behind it.
  virtual void passBorder(mlir::scf::IfOp) {}
  /// The pointer to a rank's part of a window.
  virtual Value windowPart(Value window, Value rank);

  KernelState kernel;
  ControlLowering control{*this};
  ConversionsLowering conversions{*this};
  MapsLowering maps{*this};
  MemoryLowering memory{*this};
  ReductionsLowering reductions{*this};

protected:
  /// Checks the number of threads and begins `info`.
  void beginInfo(KernelInfo &info);
  /// Computes the coordinates of this block's point. `blocks` blocks along x share a point.
  void lowerCoordinates(KernelInfo &info, int64_t blocks = 1);
  /// Prepares the operands of an op. Returns false if the op is lowered with another.
  virtual bool prepare(mlir::Operation *) { return true; }
  /// Lowers an op of channels, copies, matrix instructions or windows; false if it is not one.
  virtual bool lowerEngine(mlir::Operation *op) = 0;
  /// Begins the loop over points of a persistent kernel with `count` points.
  virtual void lowerPersistent(KernelInfo &info, int64_t count);

  ThreadBuilder &b = kernel.b;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_KERNELLOWERING_H
