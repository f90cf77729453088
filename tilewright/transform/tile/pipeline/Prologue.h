// Prologue: the ops between a load and the matmul, computed in the registers from which the matrix
// instruction reads its left operand, or from which threads write an operand to tensor memory or to
// shared memory.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

namespace tilewright::pipeline {

/// How threads load the left operand from its slot into registers.
struct RegisterRoute {
  sm::Engine engine = sm::Engine::ld;
  /// Whether the two rows that a thread has in an instruction are adjacent in the matrix. Matrix
  /// rows can be assigned to instruction rows in any order, as long as the accumulator uses the
  /// same order. With pairs of adjacent rows, bytes that are contiguous along M can be loaded two
  /// at a time, the unit that `ldmatrix` moves.
  bool pairsRows = false;
};
RegisterRoute routeOf(const Product &product);

/// The layout of a computed left operand (m, k) in registers: blocks of wgmma's A or, for tcgen05,
/// what threads write to tensor memory. `m` is the size for the whole cluster.
sm::Layout fragmentLayout(const Product &product, const GemmChoice &choice);
/// The layout of a computed right operand (k, n) in the registers of the warpgroup that writes it
/// to swizzled shared memory. `n` is the size for the whole cluster; a CTA's part must be a
/// multiple of 16.
sm::Layout computedRhsLayout(const Product &product, const GemmChoice &choice);
/// The layout of a computed left operand (m, k) in tensor memory; nullopt if tcgen05 has none.
std::optional<sm::Layout> tensorLhsLayout(const Product &product, const GemmChoice &choice);

/// Translates a layout of the product's matrix to a layout of the dot's tile, which may have
/// leading dimensions of size 1 and may be transposed.
sm::Layout layoutInDot(const Product &product, const sm::Layout &matrix);
/// The maps of views between the dot's tile and the product's matrix: from the dot's indices to the
/// matrix's, and back.
mlir::AffineMap matrixOfDot(const Product &product);
mlir::AffineMap dotOfMatrix(const Product &product);

/// Assigns to each tile of the prologue the layout that follows from the matmul operand's. The
/// prologue consists of maps, views, iotas and loads. The load of the raw tile is replaced by a
/// read of the slot.
class Prologue {
public:
  /// The prologue of the left operand, or that of the right one.
  Prologue(const Product &product, const GemmChoice &choice, bool isLhs = true);

  /// Explains why no such layouts exist; nullopt if they do.
  std::optional<std::string> problem() const { return failure; }

  /// Builds the loop-invariant part at the insertion point.
  void buildBefore(mlir::OpBuilder &b, const mlir::IRMapping &scalars);
  /// Builds the loads of an iteration that bypass the slot, such as group scales. They have a long
  /// latency, so they are issued one iteration ahead.
  llvm::SmallVector<mlir::Value> buildLoads(mlir::OpBuilder &b, const mlir::IRMapping &scalars);
  /// Reads the raw tile of an iteration from the buffer of its slot.
  mlir::Value read(mlir::OpBuilder &b, mlir::Value buffer);
  /// Builds the operand, (m, k) or (k, n), of an iteration from its raw tile and its loads.
  mlir::Value build(mlir::OpBuilder &b, mlir::Value raw, mlir::ValueRange loaded,
                    const mlir::IRMapping &scalars);

private:
  Product product; // a copy, because methods of ops are not const
  Operand operand;
  RegisterRoute route;
  /// The layout in which the operand is computed, and that in which it is multiplied or written:
  /// the same except for `order`, the place in the depth of the tile of each position of the
  /// instruction.
  sm::Layout fragments, multiplied;
  std::optional<mlir::AffineMap> order;
  llvm::DenseMap<mlir::Value, sm::Layout> layouts;
  std::optional<std::string> failure;
  /// Loop-invariant values, and values of the iteration that is being built.
  llvm::DenseMap<mlir::Value, mlir::Value> before, built;

  void fail(mlir::Operation *op, llvm::StringRef why);
  void assign(mlir::Value value, const sm::Layout &wanted);
  llvm::SmallVector<mlir::Value> loadsPastSlot();
  bool isBefore(mlir::Value value);
  mlir::Value buildValue(mlir::OpBuilder &b, mlir::Value value, const mlir::IRMapping &scalars);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PROLOGUE_H
