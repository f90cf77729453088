// AttentionBuilder: what kernels of attention and of its gradients have in common.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONBUILDER_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONBUILDER_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/transform/tile/TileBuilder.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <limits>

namespace tilewright::tile {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double log2E = 1.4426950408889634;

/// The rows of a matrix instruction, which are those of a warp, and a multiple of its columns and
/// depth for every type.
constexpr int64_t matrixRows = 16;

/// The lanes of a warp of AMD's GPUs, whose products are MFMA.
constexpr int64_t waveLanes = 64;

inline int64_t roundUp(int64_t size) {
  return int64_t(llvm::alignTo(uint64_t(size), uint64_t(matrixRows)));
}

/// Tiles of the operands of exec.softmax_dot or exec.softmax_dot_backward, and products of these
/// tiles. The dimensions are those of the op: heads, queries, keys, depth, width.
class AttentionBuilder : protected TileBuilder {
protected:
  /// The first `multiplied` operands of the op are multiplied; the others are inputs of its body.
  AttentionBuilder(mlir::OpBuilder &builder, exec::FusionOp fusion, mlir::Operation *op,
                   llvm::ArrayRef<int64_t> sizes, mlir::ArrayAttr dims, unsigned multiplied,
                   bool mayRound, const Capacities &capacities)
      : TileBuilder(builder, op->getLoc()), fusion(fusion), capacities(capacities), sizes(sizes),
        query(sizes.size() - 4), key(query + 1), depth(query + 2), width(query + 3),
        tile(sizes.size(), 1), at(sizes.size()), operands(op->getOperands()), lists(dims),
        multiplied(multiplied), mayRound(mayRound) {}

  int64_t blocks(size_t dim) const {
    return int64_t(llvm::divideCeil(uint64_t(sizes[dim]), uint64_t(tile[dim])));
  }
  bool isRagged(size_t dim) const { return sizes[dim] % tile[dim] != 0; }
  /// The dimensions of an operand or, after those, of a result.
  llvm::ArrayRef<int64_t> dimsOf(unsigned tensor) const {
    return mlir::cast<mlir::DenseI64ArrayAttr>(lists[tensor]).asArrayRef();
  }
  bool has(unsigned tensor, size_t dim) const {
    return llvm::is_contained(dimsOf(tensor), int64_t(dim));
  }
  mlir::Type elementOf(unsigned operand) const {
    return typeOf(operands[operand]).getElementType();
  }

  /// Creates the kernel with a grid of the blocks of these dimensions, and moves to its first
  /// blocks.
  KernelOp openGrid(llvm::StringRef name, llvm::ArrayRef<size_t> dims, int64_t warps);

  /// The offsets, sizes and dimensions of the part of a tensor that has the elements of a tile with
  /// these dimensions (rows, columns).
  struct Part {
    llvm::SmallVector<Value> offsets;
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<mlir::AffineExpr> exprs;
  };
  Part partOf(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<size_t> ofTile);
  /// The part of an operand in memory that has the elements of a tile with these dimensions.
  Value loadPart(unsigned operand, llvm::ArrayRef<size_t> ofTile);
  /// The tile of an operand at the current offsets, with these dimensions. `loaded` is the part of
  /// memory, if it is known.
  Value operandTile(unsigned operand, llvm::ArrayRef<size_t> ofTile, Value loaded = {});
  /// Stores a tile with these dimensions.
  void storeTile(Value tile, Value target, llvm::ArrayRef<int64_t> dims,
                 llvm::ArrayRef<size_t> ofTile);
  /// Like the function above, if a condition is true.
  void storeIf(Value condition, Value tile, Value target, llvm::ArrayRef<int64_t> dims,
               llvm::ArrayRef<size_t> ofTile);

  /// The index of each element of a tile of this shape along one of its dimensions, which is
  /// dimension `dim` of the op.
  Value numbers(llvm::ArrayRef<int64_t> shape, unsigned position, size_t dim) {
    return IotaOp::create(builder, loc, mlir::RankedTensorType::get(shape, builder.getI32Type()),
                          at[dim], int64_t(position), 1);
  }
  Value rounded(Value tile, mlir::Type from, mlir::Type to);
  /// Adds the product of two tiles to `sums`.
  Value multiply(Value left, mlir::Type leftType, Value right, mlir::Type rightType, Value sums);
  std::optional<MatrixTypes> matrixFor(mlir::Type left, mlir::Type right, int64_t terms) const {
    return capacities.matrixFor(left, right, builder.getF32Type(), terms, mayRound);
  }
  /// Whether a product is rounded more than one of f32: then weights need fewer bits, too.
  bool isApproximate(mlir::Type left, mlir::Type right, int64_t terms) const {
    const std::optional<MatrixTypes> types = matrixFor(left, right, terms);
    return types && (types->isTf32 || !types->left.isF32());
  }
  /// Computes several tiles of these types, element by element.
  llvm::SmallVector<Value>
  mapAll(mlir::ValueRange tiles, llvm::ArrayRef<mlir::Type> types,
         llvm::function_ref<llvm::SmallVector<Value>(mlir::OpBuilder &, mlir::ValueRange)> body);
  /// Combines the elements along these dimensions.
  Value reduce(Value tile, llvm::ArrayRef<int64_t> dims, float init,
               llvm::function_ref<Value(mlir::OpBuilder &, mlir::ValueRange)> combine);
  /// A value for each row, repeated along the columns.
  Value spread(Value rows, int64_t columns) {
    return view(rows, dim(0), {typeOf(rows).getDimSize(0), columns});
  }
  using Iteration = llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>;
  llvm::SmallVector<Value> loop(Value count, mlir::ValueRange inits, Iteration iteration);
  /// An input that is the same for all queries and keys of a head, as an index; otherwise null.
  Value uniform(unsigned operand);
  template <typename Op> Value join(Value a, Value b) { return Op::create(builder, loc, a, b); }
  Value choose(Value condition, Value yes, Value no);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  }

  exec::FusionOp fusion;
  const Capacities &capacities;
  const llvm::ArrayRef<int64_t> sizes;
  const size_t query, key, depth, width; // dimensions of the op; those before are heads
  llvm::SmallVector<int64_t> tile;
  llvm::SmallVector<Value> at;     // the first index of the current tile along each dimension
  mlir::ValueRange inputs;         // memory of the fusion's inputs
  llvm::SmallVector<Value> memory; // of the op's operands

private:
  std::array<Value, 3> partsOf(Value tile);

  const mlir::OperandRange operands;
  const mlir::ArrayAttr lists;
  const unsigned multiplied;
  const bool mayRound; // f32 to tf32
};

/// Makes an op's value in another body, from the values that `mapping` has. `cloneOp` may make an
/// op differently; it returns null for all others.
using CloneOp =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Operation *, mlir::IRMapping &)>;
mlir::Value cloneValue(mlir::OpBuilder &inside, mlir::Value value, mlir::IRMapping &mapping,
                       CloneOp cloneOp = {});

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ATTENTIONBUILDER_H
