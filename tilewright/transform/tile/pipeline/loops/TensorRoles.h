// TensorRoles: the roles that compute and multiply if accumulators are in tensor memory.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TENSORROLES_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TENSORROLES_H

#include "tilewright/transform/tile/pipeline/loops/MathRole.h"

namespace tilewright::pipeline {

/// The channel of a product in tensor memory, with a part for each warpgroup.
mlir::Value makeTensorChannel(mlir::OpBuilder &b, const ProductLoop &products,
                              const LoopProduct &product);

/// Computes everything between the products, in the order of the program. It takes the result of a
/// product that begins at zero as soon as it needs it, and passes a left operand on with the sum,
/// whose rows it rescales before.
class TensorMathRole : public MathRole {
public:
  using MathRole::MathRole;

private:
  void buildOp(mlir::OpBuilder &b, mlir::Operation *op, Mapping &mapping) override;
  void buildResult(mlir::OpBuilder &b, tile::DotOp dot, Mapping &mapping);
  void buildSum(mlir::OpBuilder &b, tile::DotOp dot, const TensorSum &sum, Mapping &mapping);
  /// Copies a loop and, around the outermost one that carries a sum, sets the sum to zero and reads
  /// it.
  void buildLoop(mlir::OpBuilder &b, mlir::scf::ForOp loop, Mapping &mapping);
};

/// Multiplies, in one thread, which must never wait for what the products of another warpgroup
/// could do meanwhile. So products that begin at zero are those of the iteration after that of
/// the others:
///
///   first products of iteration 0
///   for i = 1 to n: first products of iteration i, and then sums of iteration i - 1
///   sums of iteration n - 1
///
/// each for all warpgroups.
class MmaRole : public ScalarRole {
public:
  MmaRole(ProductLoop &products, const mlir::IRMapping &scalars, const RoleChannels &channels,
          int64_t warps);

  void build(sm::RoleOp role) override;

private:
  /// The buffers of operands that the role holds until it ends.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> held;

  bool buildOwn(mlir::OpBuilder &b, mlir::Operation *op) override;
  bool isVisited(mlir::scf::ForOp loop) override;
  void buildProducts(mlir::OpBuilder &b, mlir::Value count);
  void multiply(mlir::OpBuilder &b, bool areSums);
  void multiplyPart(mlir::OpBuilder &b, const LoopProduct &product, mlir::ValueRange lhs,
                    mlir::Value rhs, int64_t part);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TENSORROLES_H
