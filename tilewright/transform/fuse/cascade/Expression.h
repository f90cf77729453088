// Expressions: the scalar functions that a cascade of reductions reduces.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::cascade {

/// The shape whose elements are reduced, and the dimensions that are. The others are the rows.
struct Space {
  llvm::SmallVector<int64_t, 4> shape, axes;

  bool isAxis(int64_t dim) const { return llvm::is_contained(axes, dim); }
  /// The dimensions that are kept, in order.
  llvm::SmallVector<int64_t, 4> rowDims() const;
  /// The number of elements of a row.
  int64_t length() const;
  auto operator<=>(const Space &other) const {
    return std::tie(shape, axes) <=> std::tie(other.shape, other.axes);
  }
  bool operator==(const Space &other) const = default;
};

/// For each dimension of a tensor: the corresponding dimension of a space; -1 for dimensions of
/// size 1.
using View = llvm::SmallVector<int64_t, 4>;

/// The view of the operand of a reduction, if the space reads its result, through `dims`, in the
/// order of its rows: then the reduction is one of the space, possibly transposed or with other
/// dimensions of size 1. Otherwise nullopt.
std::optional<View> viewOfReduced(mlir::Operation *reduce, llvm::ArrayRef<int64_t> dims,
                                  const Space &space);

/// The view of a tensor of shape `from`, if a reshape between it and a tensor of shape `to` with
/// view `dims` only adds or removes dimensions of size 1.
std::optional<View> throughReshape(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to,
                                   llvm::ArrayRef<int64_t> dims);

/// A number at each point of a space. Equal numbers are the same node.
struct Node {
  enum class Kind : uint8_t {
    constant, ///< the same number everywhere
    leaf,     ///< an element of `value`
    reduced,  ///< a result of a reduction of the cascade, for the point's row
    op,       ///< an elementwise op on other nodes
  };
  unsigned id = 0;
  Kind kind = Kind::leaf;
  mlir::Type element;
  /// A constant's op and its value; the value is NaN if it is not a real number.
  mlir::Operation *op = nullptr;
  double number = 0;
  /// A leaf's tensor and its view.
  mlir::Value value;
  View dims;
  unsigned reduction = 0, result = 0;
  llvm::SmallVector<const Node *, 3> operands;
  /// Whether the node varies along the axis.
  bool onAxis = false;
  /// The reductions that the node reads, in ascending order. A node that is a result of one has its
  /// op and its view in `op` and `dims`.
  llvm::SmallVector<unsigned, 2> reads;

  bool isOp(llvm::StringRef name) const;
};

/// The nodes of one space.
class Expressions {
public:
  /// The number of a reduction that is read with a view; nullopt if it is not one of the space.
  using FindReduction = std::function<std::optional<unsigned>(mlir::Operation *, const View &)>;
  Expressions(Space space, FindReduction find)
      : space(std::move(space)), findReduction(std::move(find)) {}

  const Node *of(mlir::Value value, const View &view) { return of(value, view, 0); }
  const Node *node(unsigned id) const { return &nodes[id]; }
  size_t size() const { return nodes.size(); }

  const Space space;

private:
  const Node *of(mlir::Value value, View dims, unsigned depth);
  const Node *find(mlir::Value value, const View &dims, unsigned depth);
  const Node *ofOp(mlir::Operation *op, const View &dims, unsigned depth);
  const Node *leaf(mlir::Value value, const View &dims);
  const Node *reducedNode(mlir::OpResult result, const View &dims);
  const Node *add(Node node, std::vector<int64_t> key);

  std::deque<Node> nodes;
  std::map<std::vector<int64_t>, const Node *> known;
  FindReduction findReduction;
};

/// The node as a formula such as "exp(x - r0)", truncated if it is long.
std::string toString(const Node &node);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H
