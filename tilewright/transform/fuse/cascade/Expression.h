// Expressions: the scalar functions that a cascade of reductions reduces.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <deque>
#include <map>
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
  /// A leaf's tensor, and the dimension of the space that each of its dimensions is; -1 if none.
  mlir::Value value;
  llvm::SmallVector<int64_t, 4> dims;
  unsigned reduction = 0, result = 0;
  llvm::SmallVector<const Node *, 3> operands;
  /// Whether it varies along the axis.
  bool onAxis = false;
  /// The reductions that it reads, ascending.
  llvm::SmallVector<unsigned, 2> reads;

  bool isOp(llvm::StringRef name) const;
};

/// The nodes of one space.
class Expressions {
public:
  explicit Expressions(Space space) : space(std::move(space)) {}

  /// The node of a tensor of the space's shape.
  const Node *of(mlir::Value value);
  /// Lets later calls of of() know a result of reduction `reduction` of this space.
  void addReduction(mlir::Operation *op, unsigned reduction) { reductions[op] = reduction; }
  const Node *node(unsigned id) const { return &nodes[id]; }

  const Space space;

private:
  using Dims = llvm::SmallVector<int64_t, 4>;
  const Node *of(mlir::Value value, const Dims &dims, unsigned depth);
  const Node *find(mlir::Value value, const Dims &dims, unsigned depth);
  const Node *ofOp(mlir::Operation *op, const Dims &dims, unsigned depth);
  const Node *leaf(mlir::Value value, const Dims &dims);
  const Node *reducedNode(mlir::OpResult result, const Dims &dims);
  const Node *add(Node node, std::vector<int64_t> key);

  std::deque<Node> nodes;
  std::map<std::vector<int64_t>, const Node *> known;
  llvm::DenseMap<mlir::Operation *, unsigned> reductions;
};

/// A node as a formula, cut off where it becomes long: "exp(x - r0)".
std::string toString(const Node &node);

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EXPRESSION_H
