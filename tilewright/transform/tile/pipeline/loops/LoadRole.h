// LoadRole: the role that copies what the products of a loop read from shared memory.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOADROLE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOADROLE_H

#include "tilewright/transform/tile/pipeline/loops/ProductLoop.h"

#include "llvm/ADT/SetVector.h"

namespace tilewright::pipeline {

/// The channels between the roles.
struct RoleChannels {
  /// By staged load.
  llvm::DenseMap<mlir::Operation *, mlir::Value> staged;
  /// For numbers that the math role computes and the load role needs.
  llvm::DenseMap<mlir::Value, mlir::Value> numbers;
  /// The channel by which the warpgroups of the math role take turns; null if they do not.
  mlir::Value turn;
};

/// Builds the load role: the kernel's loops that contain staged loads, and the scalars that
/// determine loop bounds and load offsets. The math role sends the numbers that are computed from
/// tiles.
class LoadRole {
public:
  /// `scalars` maps the values that are computed before the roles begin.
  LoadRole(ProductLoop &products, const mlir::IRMapping &scalars, const RoleChannels &channels,
           int64_t warps);

  llvm::ArrayRef<mlir::Value> numbersFromMath() const { return numbers.getArrayRef(); }
  void build(sm::RoleOp role);

private:
  ProductLoop &products;
  mlir::IRMapping mapping;
  const RoleChannels &channels;
  const int64_t warps;
  /// The values that the role must compute.
  llvm::DenseSet<mlir::Value> needed;
  llvm::SetVector<mlir::Value> numbers;

  void need(mlir::Value value);
  bool hasLoads(mlir::Operation *op);
  void buildBlock(mlir::OpBuilder &b, mlir::Block &block);
  void buildLoad(mlir::OpBuilder &b, const StagedLoad &staged);
  void buildLoop(mlir::OpBuilder &b, mlir::scf::ForOp loop);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOADROLE_H
