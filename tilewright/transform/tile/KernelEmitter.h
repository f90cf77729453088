// KernelEmitter: one kernel being written. Private to this stage.
#ifndef TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H
#define TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace tilewright::tile {

/// An operand of a map: a tile, or an element that is the same everywhere.
struct Operand {
  mlir::Value tile;
  mlir::ElementsAttr constant;
};

/// Emits each value for each box in which it is needed, once, from the outputs down.
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
  /// The first index of an access at this point.
  mlir::Value offset(const Access &access);
  /// A position that is read from memory, as an index inside its limits.
  mlir::Value position(int number);
  mlir::Value view(mlir::Value tile, llvm::ArrayRef<mlir::AffineExpr> exprs,
                   llvm::ArrayRef<int64_t> shape);
  /// With `zeros`, what is outside the source is zero; else it is of no account.
  mlir::Value load(const Node &node, unsigned number, const Box &box, bool zeros = false);
  void store(ValueRef value, const Box &box, mlir::Value target);

  //===- Loops ------------------------------------------------------------===//

  /// The turns of some loops of the tiling, as one loop that is open, or one turn of it. What
  /// depends on its dimensions is valid only inside.
  struct Scope {
    llvm::SmallVector<int> loops;
    mlir::Operation *op = nullptr;  // null: one turn, in the block around it
    mlir::Operation *top = nullptr; // before it, what depends on the turn alone
  };
  /// How many of the open scopes a box depends on, counted from the outside.
  size_t depthOf(const Box &box) const;
  /// Lets `builder` write where only the first `depth` scopes are open.
  void hoist(size_t depth);
  int64_t turnsOf(llvm::ArrayRef<int> loops) const;
  using Turn = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  /// One turn, the first, in place.
  llvm::SmallVector<mlir::Value> firstTurn(llvm::ArrayRef<int> loops, mlir::ValueRange carried,
                                           Turn turn);
  /// The turns from `first` on, with tiles carried from one to the next.
  llvm::SmallVector<mlir::Value> loop(llvm::ArrayRef<int> loops, int64_t first,
                                      mlir::ValueRange carried, Turn turn);
  void close(Scope &&scope);
  /// The loops of a node's reduction.
  llvm::SmallVector<int> loopsOf(const Node &node, unsigned number) const;
  /// For each of `loops` that the last turn leaves: the tile of its index, of this shape.
  struct Leaving {
    mlir::Value index;
    int64_t size;
  };
  llvm::SmallVector<Leaving> leavingTurns(const Box &box, llvm::ArrayRef<int> loops,
                                          llvm::ArrayRef<int64_t> dims,
                                          llvm::ArrayRef<int64_t> shape);
  /// Whether all of the indices, elements of a map's region, are inside.
  mlir::Value allInside(mlir::OpBuilder &region, llvm::ArrayRef<Leaving> leaving,
                        mlir::ValueRange indices);

  //===- Maps -------------------------------------------------------------===//

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  /// A map with one result; constants become ops of the region.
  mlir::Value map(mlir::RankedTensorType type, llvm::ArrayRef<Operand> operands, Body body);
  /// Zero of an element type of the IR.
  mlir::Value zero(mlir::OpBuilder &at, mlir::Type type);
  mlir::Value splat(mlir::RankedTensorType type, mlir::ElementsAttr constant) {
    return map(type, Operand{{}, constant},
               [](mlir::OpBuilder &, mlir::ValueRange v) { return v[0]; });
  }

  //===- Values -----------------------------------------------------------===//

  mlir::Value emitValue(ValueRef value, const Box &box);
  llvm::SmallVector<mlir::Value> emitNode(const Node &node, unsigned number, const Box &box);
  /// An operand as a tile of the user's domain.
  Operand operand(const Edge &edge, const Box &domain);
  /// The bounds that the domain may leave, each with a tile of its index.
  llvm::SmallVector<std::pair<mlir::Value, Bound>> leaving(const Edge &edge, const Box &domain);
  /// The operand where the domain is inside its bounds, and `otherwise` elsewhere.
  mlir::Value chooseInside(const Edge &edge, const Box &domain, mlir::RankedTensorType type,
                           Operand otherwise);
  /// A value of rank 0 as a scalar of the kernel's body.
  mlir::Value scalar(ValueRef value);

  mlir::Value emitIota(const Node &node, const Box &box);
  mlir::Value emitPad(const Node &node, const Box &box);
  mlir::Value emitGather(const Node &node, const Box &box);
  mlir::Value emitConcatenate(const Node &node, const Box &box);
  mlir::Value emitElementwise(const Node &node, const Box &box);
  llvm::SmallVector<mlir::Value> emitReduce(const Node &node, unsigned number, const Box &box);
  mlir::Value emitDot(const Node &node, unsigned number, const Box &box);
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
  /// By dimension of the domain; null where there is one point.
  llvm::SmallVector<mlir::Value> coordinates;
  llvm::DenseMap<unsigned, mlir::Value> memrefs; // by number of an input node
  std::map<int64_t, mlir::Value> constants;
  std::map<Access, mlir::Value> offsets;
  std::map<int, mlir::Value> positions;
  std::map<std::pair<unsigned, Box>, llvm::SmallVector<mlir::Value>> values;
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_KERNELEMITTER_H
