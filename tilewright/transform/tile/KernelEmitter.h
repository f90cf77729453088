// KernelEmitter: the state of emitting one kernel. Private to this folder.
#ifndef TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H
#define TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <functional>
#include <map>

namespace tilewright::tile {

/// An operand of a map: a tile, or a splat constant.
struct Operand {
  mlir::Value tile;
  mlir::ElementsAttr constant;
};

/// The bounds of an operand that indices may exceed, each with a tile of the indices to compare.
using Leaving = llvm::SmallVector<std::pair<mlir::Value, Bound>>;

/// How a node that is being emitted reads its operands: by boxes, or at computed indices. The tiles
/// have the shape of the node's tile.
struct Reader {
  std::function<Operand(const Edge &)> operand;
  std::function<Leaving(const Edge &)> leaving;
  /// A tile with the values of an index expression, whose dimensions are those of the node.
  std::function<mlir::Value(mlir::AffineExpr)> index;
};

/// Emits the values of a kernel, starting from the outputs: each value once for every distinct box
/// of it that is read.
class KernelEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc, const FusionGraph &graph,
                const Tiling &tiling, const Capacities &capacities)
      : builder(builder), loc(loc), context(builder.getContext()), graph(graph), tiling(tiling),
        capacities(capacities) {}

  KernelOp emit(llvm::StringRef name, llvm::SmallVectorImpl<int> &inputs);

private:
  //===- Tiles ------------------------------------------------------------===//

  mlir::RankedTensorType tileType(const Box &box, mlir::Type element) const {
    llvm::SmallVector<int64_t> shape;
    for (const Access &access : box)
      shape.push_back(tiling.tileSize(access));
    return mlir::RankedTensorType::get(shape, elements::scalarType(element));
  }
  mlir::Value index(int64_t value) {
    mlir::Value &constant = constants[value];
    if (!constant)
      constant = mlir::arith::ConstantIndexOp::create(top, loc, value);
    return constant;
  }
  /// The first index of an access at the current point of the grid.
  mlir::Value offset(const Access &access);
  /// A runtime position, read from memory and clamped to its limit.
  mlir::Value position(int number);
  /// An element of an index tensor as an `index`, clamped to [0, limit].
  mlir::Value clamped(mlir::OpBuilder &at, mlir::Type element, mlir::Value value, int64_t limit);
  mlir::Value view(mlir::Value tile, llvm::ArrayRef<mlir::AffineExpr> exprs,
                   llvm::ArrayRef<int64_t> shape);
  /// Loads a tile. With `zeros`, elements outside the source are zero; otherwise they are
  /// undefined.
  mlir::Value load(const Node &node, unsigned number, const Box &box, bool zeros = false);
  void store(ValueRef value, const Box &box, mlir::Value target);
  /// Stores the update of a dynamic_update_slice into its window.
  void storeWindow(const Node &node, const Box &box, mlir::Value target);
  /// Stores rows at the positions given by the indices of a scatter.
  void storeRows(const Node &node, const Box &box, mlir::Value target);

  //===- Loops ------------------------------------------------------------===//

  /// An open loop over some loop dimensions of the tiling, or one inlined iteration of it. Values
  /// that depend on these dimensions are valid only inside.
  struct Scope {
    llvm::SmallVector<int> loops;
    mlir::Operation *op = nullptr;  // null: one iteration, inlined in the enclosing block
    mlir::Operation *top = nullptr; // values that depend only on the coordinates go before it
  };
  /// The number of scopes, counted from the outermost, that must be open where a value with this
  /// box is emitted.
  size_t depthOf(const Box &box) const;
  /// Moves `builder` to the place where only the first `depth` scopes are open.
  void hoist(size_t depth);
  int64_t tripCount(llvm::ArrayRef<int> loops) const;
  using EmitIteration = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  /// Emits the first iteration inline (peeled).
  llvm::SmallVector<mlir::Value> peelFirst(llvm::ArrayRef<int> loops, mlir::ValueRange carried,
                                           EmitIteration emitIteration);
  /// Emits a loop over the iterations from `first` on, with loop-carried tiles.
  llvm::SmallVector<mlir::Value> loop(llvm::ArrayRef<int> loops, int64_t first,
                                      mlir::ValueRange carried, EmitIteration emitIteration,
                                      bool isPipelined = false);
  void close(Scope &&scope);
  /// The loops over the dimensions that a node reduces.
  llvm::SmallVector<int> loopsOf(const Node &node, unsigned number) const;
  /// A loop whose last iteration is partial: a tile of its indices, and the size of its dimension.
  struct PartialLoop {
    mlir::Value index;
    int64_t size;
  };
  llvm::SmallVector<PartialLoop> partialLoops(const Box &box, llvm::ArrayRef<int> loops,
                                              llvm::ArrayRef<int64_t> dims,
                                              llvm::ArrayRef<int64_t> shape);
  /// Emits a check that all `indices` are in bounds; returns null if `indices` is empty. The
  /// indices are scalars in the region of a map.
  mlir::Value allInside(mlir::OpBuilder &region, llvm::ArrayRef<PartialLoop> partial,
                        mlir::ValueRange indices);

  //===- Maps -------------------------------------------------------------===//

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  /// Emits a map with one result; constant operands become ops of its region.
  mlir::Value map(mlir::RankedTensorType type, llvm::ArrayRef<Operand> operands, Body body);
  /// The zero of an element type.
  mlir::Value zero(mlir::OpBuilder &at, mlir::Type type);
  /// Reads an operand as a tile.
  mlir::Value tileOf(mlir::RankedTensorType type, Operand operand) {
    return operand.tile ? operand.tile : splat(type, operand.constant);
  }
  mlir::Value splat(mlir::RankedTensorType type, mlir::ElementsAttr constant) {
    return map(type, Operand{{}, constant},
               [](mlir::OpBuilder &, mlir::ValueRange v) { return v[0]; });
  }

  //===- Values -----------------------------------------------------------===//

  mlir::Value emitValue(ValueRef value, const Box &box);
  llvm::SmallVector<mlir::Value> emitNode(const Node &node, unsigned number, const Box &box);
  /// A reduction or product over a dimension of size 0: the initial values.
  llvm::SmallVector<mlir::Value> emitEmptySum(const Node &node, const Box &box);
  /// An operand of `user` as a tile over the user's domain.
  Operand operand(const Node &user, const Edge &edge, const Box &domain);
  /// Reads the operands of `node` by boxes; both must outlive the reader.
  Reader readerOf(const Node &node, const Box &domain);
  Leaving leaving(const Edge &edge, const Box &domain);
  /// Selects `inside` where all indices are in bounds, `otherwise` elsewhere.
  mlir::Value choose(mlir::RankedTensorType type, const Leaving &indices, Operand inside,
                     Operand otherwise);
  /// A value of rank 0 as a scalar in the kernel's body.
  mlir::Value scalar(ValueRef value);

  mlir::Value emitIota(const Node &node, const Box &box);
  /// An iota from tiles of indices along its dimensions, of type i64 or `index`.
  mlir::Value emitIota(const Node &node, mlir::RankedTensorType type,
                       llvm::ArrayRef<Operand> counters);
  Operand emitPad(const Node &node, mlir::RankedTensorType type, const Reader &reader);
  Operand emitConcatenate(const Node &node, mlir::RankedTensorType type, const Reader &reader);
  mlir::Value emitElementwise(const Node &node, mlir::RankedTensorType type, const Reader &reader);
  /// The indices of the table's elements, one tile for each dimension of the table.
  llvm::SmallVector<mlir::Value> gatherIndices(const Node &node, mlir::RankedTensorType type,
                                               const Reader &reader);
  mlir::Value emitGather(const Node &node, const Box &box);
  /// A tile of the indices that an access visits along dimension `dim` of a tile.
  mlir::Value indices(const Access &access, mlir::RankedTensorType type, unsigned dim);
  class Computed;
  class Reduction;
  class Matmul;
  llvm::SmallVector<mlir::Value> emitReduce(const Node &node, unsigned number, const Box &box);
  mlir::Value emitDot(const Node &node, unsigned number, const Box &box);
  /// Replaces the elements of a tile of `node` that are outside its bounds by zero.
  mlir::Value zeroOutside(mlir::Value tile, const Node &node, const Box &box);
  mlir::Value multiply(mlir::Value left, mlir::Value right, mlir::Value sums);
  mlir::Value convertTile(mlir::Value tile, mlir::Type from, mlir::Type to);

  mlir::OpBuilder &builder;
  mlir::OpBuilder top{static_cast<mlir::MLIRContext *>(nullptr)}; // where offsets are computed
  mlir::Location loc;
  mlir::MLIRContext *context;
  const FusionGraph &graph;
  const Tiling &tiling;
  const Capacities &capacities;
  llvm::SmallVector<Scope> scopes;
  /// The coordinate along each dimension of the domain; null if the dimension has a single tile.
  llvm::SmallVector<mlir::Value> coordinates;
  llvm::DenseMap<unsigned, mlir::Value> memrefs; // by number of an input node
  std::map<int64_t, mlir::Value> constants;
  std::map<Access, mlir::Value> offsets;
  std::map<int, mlir::Value> positions;
  std::map<std::pair<unsigned, Box>, llvm::SmallVector<mlir::Value>> values;
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H
