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
                const Tiling &tiling)
      : builder(builder), loc(loc), context(builder.getContext()), graph(graph), tiling(tiling) {}

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
  mlir::Value load(const Node &node, unsigned number, const Box &box);
  void store(ValueRef value, const Box &box, mlir::Value target);

  //===- Maps -------------------------------------------------------------===//

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>;
  /// A map with one result; constants become ops of the region.
  mlir::Value map(mlir::RankedTensorType type, llvm::ArrayRef<Operand> operands, Body body);
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
  mlir::Value emitConcatenate(const Node &node, const Box &box);
  mlir::Value emitElementwise(const Node &node, const Box &box);
  llvm::SmallVector<mlir::Value> emitReduce(const Node &node, const Box &box);
  mlir::Value emitDot(const Node &node, const Box &box);
  mlir::Value convertTile(mlir::Value tile, mlir::Type from, mlir::Type to);

  mlir::OpBuilder &builder;
  mlir::OpBuilder top{static_cast<mlir::MLIRContext *>(nullptr)}; // where offsets are computed
  mlir::Location loc;
  mlir::MLIRContext *context;
  const FusionGraph &graph;
  const Tiling &tiling;
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
