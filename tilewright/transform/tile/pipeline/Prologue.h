// Prologue: what is computed between a load and the product, in the registers from which the matrix
// instruction takes its left side.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// How the left side gets from its slot into registers.
struct RegisterRoute {
  sm::Engine engine = sm::Engine::ld;
  /// Whether a thread's two rows of an instruction are neighbours in the matrix. Which of the
  /// matrix's rows is which of the instruction's is free, as long as the accumulator agrees; so
  /// bytes that are contiguous along M come as pairs, which is what `ldmatrix` moves.
  bool pairsRows = false;
};
RegisterRoute routeOf(const Product &product);

/// The left side (m, k) in registers: blocks of wgmma's A. `m` is that of the whole cluster.
sm::Layout fragmentLayout(const Product &product, const GemmChoice &choice);

/// The layout that the dot's tile has where the transposed, or the plain, product's matrix has this
/// one: of as many dimensions as the dot's (the first have one index), in the dot's order.
sm::Layout layoutInDot(const Product &product, const sm::Layout &matrix);
/// The map of a view between the two. From the dot's indices to the matrix's, and back.
mlir::AffineMap matrixOfDot(const Product &product);
mlir::AffineMap dotOfMatrix(const Product &product);

/// Gives each tile on the way the layout that the product's side needs of it. The way is made of
/// maps, views, iotas and loads; the load of the raw tile is one from the slot.
class Prologue {
public:
  Prologue(const Product &product, const GemmChoice &choice);

  /// Why there are no such layouts, or nothing.
  std::optional<std::string> problem() const { return failure; }

  /// Builds what does not depend on the iteration, at the builder's place.
  void buildBefore(mlir::OpBuilder &b, const mlir::IRMapping &scalars);
  /// Builds the loads of an iteration that go past the slot: scales of groups. They take long, so
  /// they are built an iteration ahead.
  llvm::SmallVector<mlir::Value> buildLoads(mlir::OpBuilder &b, const mlir::IRMapping &scalars);
  /// Builds the left side (m, k) of an iteration from its slot's buffer and its loads.
  mlir::Value build(mlir::OpBuilder &b, mlir::Value buffer, mlir::ValueRange loaded,
                    const mlir::IRMapping &scalars);

private:
  Product product; // ops are handles
  sm::Layout fragments;
  llvm::DenseMap<mlir::Value, sm::Layout> layouts;
  std::optional<std::string> failure;
  /// Of all iterations, and of the one that is being built.
  llvm::DenseMap<mlir::Value, mlir::Value> before, built;

  void fail(mlir::Operation *op, llvm::StringRef why);
  void assign(mlir::Value value, const sm::Layout &wanted);
  llvm::SmallVector<mlir::Value> loadsPastSlot();
  bool isBefore(mlir::Value value);
  mlir::Value buildValue(mlir::OpBuilder &b, mlir::Value value, const mlir::IRMapping &scalars);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H
