// MathRole: the role that multiplies and computes everything between the products of a loop.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_MATHROLE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_MATHROLE_H

#include "tilewright/transform/tile/pipeline/loops/LoadRole.h"
#include "tilewright/transform/tile/pipeline/loops/LoopProblem.h"
#include "tilewright/transform/tile/pipeline/loops/TileLayouts.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tilewright::pipeline {

/// Has all ops of the kernel but the staged loads, in registers. In the loop, the ops of stage 1
/// work on the iteration before that of stage 0:
///
///   stage 0 of iteration 0
///   for i = 1 to n: stage 0 of iteration i and stage 1 of iteration i - 1, in the planned order
///   stage 1 of iteration n - 1
class MathRole {
public:
  MathRole(ProductLoop &products, const LoopPlan &plan, const mlir::IRMapping &scalars,
           const RoleChannels &channels);

  virtual ~MathRole() = default;

  void build(sm::RoleOp role);

protected:
  /// A slot that the role has taken and frees once its product is complete.
  struct TakenSlot {
    mlir::Value product; // the original tile; null if the slot is held until the end
    mlir::Value channel;
  };
  /// The values of one iteration.
  using Mapping = mlir::IRMapping;

  ProductLoop &products;
  const LoopPlan &plan;
  Mapping scalars;
  const RoleChannels &channels;
  TileLayouts layouts;
  llvm::SmallVector<TakenSlot> taken;
  /// The first and the last product of a warpgroup's turn, while the steady state is built.
  struct {
    tile::DotOp first, last;
  } turns;

  void buildBlock(mlir::OpBuilder &b, mlir::Block &block, Mapping &mapping);
  virtual void buildOp(mlir::OpBuilder &b, mlir::Operation *op, Mapping &mapping);
  /// Copies a loop without the values that stay in tensor memory.
  void buildPlainLoop(mlir::OpBuilder &b, mlir::scf::ForOp loop, Mapping &mapping);
  void buildBranch(mlir::OpBuilder &b, mlir::scf::IfOp branch, Mapping &mapping);
  void buildProduct(mlir::OpBuilder &b, tile::DotOp dot, Mapping &mapping);
  void buildStore(mlir::OpBuilder &b, tile::StoreOp store, Mapping &mapping);
  void tellNumber(mlir::OpBuilder &b, mlir::tensor::ExtractOp extract, Mapping &mapping);
  /// Frees the slots of products whose results `op` uses; if `op` is null, all slots except those
  /// that are held until the end.
  void freeSlots(mlir::OpBuilder &b, mlir::Operation *op);
  void giveLayouts(mlir::Operation *op, mlir::Operation *copy);

  // The loop of the products.
  void buildProductLoop(mlir::OpBuilder &b, Mapping &mapping);
  llvm::SmallVector<mlir::Value> buildRotated(mlir::OpBuilder &b, const Mapping &mapping,
                                              mlir::Value count);
  /// Builds the free ops that `op` depends on, for the iteration of `mapping`.
  void buildFreeOperands(mlir::OpBuilder &b, mlir::Operation *op, Mapping &mapping);
  int64_t stageOf(mlir::Operation *op) const;
  /// The values that ops of stage 1 read, and that ops of stage 0 compute or the previous iteration
  /// passes on.
  llvm::SmallVector<mlir::Value> crossingValues();
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_MATHROLE_H
