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
  /// For numbers that the math role computes and the other roles need.
  llvm::DenseMap<mlir::Value, mlir::Value> numbers;
  /// The channel by which the warpgroups of the math role take turns; null if they do not.
  mlir::Value turn;
  /// By product, if accumulators are in tensor memory, with a part for each warpgroup: the result
  /// of a product that begins at zero; or the left operand and the sum.
  llvm::DenseMap<mlir::Operation *, mlir::Value> tensor;
};

/// A role of few ops: the kernel's loops that contain these, and the scalars that determine bounds
/// and offsets. The math role sends the numbers that are computed from tiles.
class ScalarRole {
public:
  /// `scalars` maps the values that are computed before the roles begin.
  ScalarRole(ProductLoop &products, const mlir::IRMapping &scalars, const RoleChannels &channels,
             int64_t warps)
      : products(products), mapping(scalars), channels(channels), warps(warps) {}
  virtual ~ScalarRole() = default;

  llvm::ArrayRef<mlir::Value> numbersFromMath() const { return numbers.getArrayRef(); }
  virtual void build(sm::RoleOp role);

protected:
  ProductLoop &products;
  mlir::IRMapping mapping;
  const RoleChannels &channels;

  /// Builds one of the role's own ops; returns whether it is one.
  virtual bool buildOwn(mlir::OpBuilder &b, mlir::Operation *op) = 0;
  /// Whether a loop contains ops of the role.
  virtual bool isVisited(mlir::scf::ForOp loop) = 0;
  /// Marks a value that the role must compute.
  void need(mlir::Value value);
  void needBounds(mlir::scf::ForOp innermost);

private:
  const int64_t warps;
  llvm::DenseSet<mlir::Value> needed;
  llvm::SetVector<mlir::Value> numbers;

  void buildBlock(mlir::OpBuilder &b, mlir::Block &block);
  void buildNumber(mlir::OpBuilder &b, mlir::Value number);
  void buildLoop(mlir::OpBuilder &b, mlir::scf::ForOp loop);
};

/// Builds the load role.
class LoadRole : public ScalarRole {
public:
  LoadRole(ProductLoop &products, const mlir::IRMapping &scalars, const RoleChannels &channels,
           int64_t warps);

private:
  bool buildOwn(mlir::OpBuilder &b, mlir::Operation *op) override;
  bool isVisited(mlir::scf::ForOp loop) override;
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_LOADROLE_H
