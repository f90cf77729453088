// FusionGraph: the body of a fusion in coordinates that all its ops share. Adjacent dimensions that
// every op treats alike are merged.
#ifndef TILEWRIGHT_TRANSFORM_TILE_FUSIONGRAPH_H
#define TILEWRIGHT_TRANSFORM_TILE_FUSIONGRAPH_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/transform/tile/Dimensions.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::tile {

/// A value of the fusion: a result of a node.
struct ValueRef {
  unsigned node = 0;
  unsigned result = 0;
};

/// A condition for an operand access to be in bounds: `index` (a function of the domain) lies in
/// [0, size) and is a multiple of `step`.
struct Bound {
  mlir::AffineExpr index;
  int64_t size;
  int64_t step = 1;
};

/// A scalar index that is known only at run time, clamped to [0, limit]. Symbol i of index
/// expressions is position i of the graph.
struct RunPosition {
  ValueRef value;
  int64_t limit;
};

struct Edge {
  ValueRef source;
  /// The index into the source, in the source's coordinates, as a function of the user's domain.
  llvm::SmallVector<mlir::AffineExpr> index;
  /// Conditions under which the result element comes from this operand.
  llvm::SmallVector<Bound> bounds;
  /// The user's `units`.
  llvm::SmallVector<unsigned> units;
};

/// For a gather: an element of the indices, clamped to [0, limit], is added to the index along one
/// dimension of the table.
struct Start {
  unsigned dim;     // of the table
  unsigned operand; // the number of the edge that reads the element
  int64_t limit;
};

/// One op of the fusion, or an input.
struct Node {
  mlir::Operation *op = nullptr; // null for an input
  int input = -1;
  /// Element type of each result, as in StableHLO.
  llvm::SmallVector<mlir::Type> elementTypes;
  /// The domain: dimensions of the results, then the reduced dimensions.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<Dimensions::Id> classes;
  unsigned rank = 0;
  /// Whether the op is a reduction or a product, even if it has no reduced dimensions, or all of
  /// them have size 1 and are not in `sizes`.
  bool reduces = false;
  llvm::SmallVector<Edge> operands;
  /// For an iota: an element is the sum of index * stride over these dimensions.
  llvm::SmallVector<std::pair<unsigned, int64_t>> iotaStrides;
  /// For a gather, whose table is operand 0.
  llvm::SmallVector<Start> starts;
  /// Dimensions of the domain whose tiles have one element, so that an index can add them to
  /// another dimension: a convolution reads its input at position * stride + tap * dilation. Either
  /// the tap or the position is in this list.
  llvm::SmallVector<unsigned> units;

  llvm::ArrayRef<int64_t> shape() const { return llvm::ArrayRef(sizes).take_front(rank); }
};

class FusionGraph {
public:
  /// Returns nullopt and sets `reason` if a kernel cannot contain one of the ops.
  static std::optional<FusionGraph> create(exec::FusionOp fusion, std::string &reason);

  std::vector<Node> nodes;
  /// The results of the fusion. A reshape of a whole output is free and is not a node of the graph.
  llvm::SmallVector<ValueRef> outputs;
  std::vector<RunPosition> positions;

  const Node &node(ValueRef value) const { return nodes[value.node]; }
  mlir::Type elementType(ValueRef value) const {
    return nodes[value.node].elementTypes[value.result];
  }
  /// The value of a splat constant; null if `value` is not a splat constant.
  mlir::ElementsAttr constantOf(ValueRef value) const;
  /// Whether a value has no elements.
  bool isEmpty(ValueRef value) const;

private:
  friend class GraphBuilder;
  void mergeDimensions();
  bool canMerge(Dimensions::Id major, Dimensions::Id minor) const;
  void merge(Dimensions::Id major, Dimensions::Id minor);
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_FUSIONGRAPH_H
