// AttentionMatcher: the parts of attention in a cascade, and the body of the op for it.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONMATCHER_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONMATCHER_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/fuse/KeyParts.h"
#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::cascade {

/// A tensor, and for each of its dimensions the corresponding dimension of the space; depth and
/// width come after those.
struct Operand {
  mlir::Value value;
  View dims;

  bool has(int64_t dim) const { return llvm::is_contained(dims, dim); }
  bool operator==(const Operand &other) const = default;

  /// Reads through ops that only repeat or reorder elements, except those that repeat them along a
  /// dimension of `kept`.
  void skipMovement(llvm::ArrayRef<int64_t> kept = {});
  /// Like the function above, for a result: replaces it by a later value that is computed from it
  /// alone by reordering elements. Except for GPUs, also looks through conversions between floats
  /// and dimensions of size 1.
  void followMovement(bool isGpu);
};

/// The dimensions of an operand of a product that are not free.
struct SideDims {
  llvm::ArrayRef<int64_t> batching, contracting;

  bool isFree(int64_t dim) const {
    return !llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim);
  }
};
SideDims sideDims(stablehlo::DotGeneralOp dot, bool isLhs);

/// The dimensions of an operand of a product whose result has `ofResult`.
Operand operandOf(stablehlo::DotGeneralOp dot, bool isLhs, llvm::ArrayRef<int64_t> ofResult,
                  int64_t contracted);

/// If the node converts between types of floats, the node that it converts; otherwise the node
/// itself.
const Node &beforeConversions(const Node &value);

/// Matches a cascade with a softmax between two products. Members are valid after match().
class AttentionMatcher {
public:
  explicit AttentionMatcher(Cascade &cascade)
      : cascade(cascade), rank(static_cast<int64_t>(cascade.space().shape.size())), depth(rank),
        width(rank + 1), absentQuery(rank + 2) {}

  bool match() {
    return findWeights() && isSoftmax() && findScore() && hasTypes() && follow(first) &&
           placeFirst() && placeSecond() && chooseQueries() && placeInputs(inputs);
  }
  /// Finds the score, the maximum and the sum of a softmax: `score`, `maximum`, `sum`. The first
  /// step of match().
  bool findWeights();
  /// Whether a product multiplies the weights by values; after findWeights().
  bool hasProduct();
  /// Creates the op before the second product, with the two results for rows if `hasRowValues`.
  exec::SoftmaxDotOp create(bool hasRowValues);

  Cascade &cascade;
  /// Dimensions of the space, and three more: the last one is the query of scores that have one
  /// query for each head, and no dimension for it.
  const int64_t rank, depth, width, absentQuery;
  std::string why; // why match() returned false

  unsigned maximum = 0, sum = 0; // numbers of reductions
  const Node *score = nullptr, *product = nullptr, *subtracted = nullptr;
  Linear ofScore;
  /// Leaves other than the product and the indices of queries and keys.
  llvm::SmallVector<const Node *> inputs;
  /// The weights are multiplied by `weightScale` and these factors before the second product, but
  /// not before they are summed: dropout, for example.
  Factors weightFactors;
  double weightScale = 1;
  stablehlo::DotGeneralOp first, second;
  Operand queries, keys, values, result;
  std::vector<int64_t> order; // the dimensions of the space in the order of the op's
  /// The ops that depend on the first product, and the products, other than the second one, that
  /// read these ops.
  llvm::SetVector<mlir::Operation *> readers, otherProducts;

  int64_t queryDim() const { return order[order.size() - 4]; }
  int64_t keyDim() const { return cascade.space().axes[0]; }

  bool fail(std::string reason) {
    why = std::move(reason);
    return false;
  }
  const Node &node(unsigned id) const { return *cascade.nodes.node(id); }
  /// Adds the ops that depend on a product to `readers`, up to other products. Fails if one of them
  /// is not in the block or has effects: then scores are in memory anyway, or are computed twice.
  bool follow(mlir::Operation *from);
  /// Adds the leaves of a node: products that vary along the keys, and all other tensors. Fails if
  /// an op on the way cannot be part of a body.
  bool findLeaves(const Node &root, llvm::SmallVectorImpl<const Node *> &tensors,
                  llvm::SmallVectorImpl<const Node *> &products);
  /// Whether the body can read these tensors. Removes the indices of queries and keys, which are
  /// arguments of the body anyway.
  bool placeInputs(llvm::SmallVectorImpl<const Node *> &tensors);
  /// An input as an operand of the op. Indices of heads become a tensor of one dimension.
  static Operand inputOf(mlir::OpBuilder &builder, const Node &input);
  bool dependsOn(const Node &node, const Node *leaf) const;
  /// The map of a reduction of the backward pass, taken apart into functions of elements and rows.
  Polynomial termsOf(const Reduction &reduction) const;
  /// The constant operand of the score, if the score is a selection between a constant and a score;
  /// otherwise null.
  const Node *maskedSide() const;
  /// Whether an exponent is the score minus a number that depends only on the row.
  bool isExponent(Linear exponent, const Node &base) const;
  mlir::DenseI64ArrayAttr numbered(mlir::OpBuilder &builder, const View &dims) const;
  llvm::SmallVector<int64_t> sizes() const;
  /// Whether both products may round f32 to tf32.
  bool mayRoundToTf32();

private:
  bool findReductions();
  bool isSoftmax();
  bool isMaximum(const Node &converted) const;
  bool isWeight(const Reduction &reduction, bool isDivided);
  bool findScore();
  bool hasTypes();
  bool placeFirst();
  bool placeSecond();
  bool isNumbered(int64_t dim) const;
  bool chooseQueries();
  std::string whyNotFew(const fuse::AttentionSizes &sizes) const;

  const Reduction *last = nullptr;
  int64_t depthSize = 1, widthSize = 1;
};

/// Emits nodes into a body. Its arguments are the product; from `numbers` on, the indices of query
/// and key; and an element of each input.
class BodyEmitter {
public:
  BodyEmitter(const AttentionMatcher &match, mlir::Block *body, unsigned numbers,
              llvm::ArrayRef<const Node *> inputs);

  /// The value of a node at one element.
  mlir::Value emit(const Node &node);
  /// Whether the element does not come from the masked operand of the selection.
  mlir::Value emitVisible();
  /// The factor of a weight in the second product; null if there is none.
  mlir::Value emitFactor();

protected:
  const AttentionMatcher &match;
  mlir::Block *body;
  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  unsigned numbers;
  llvm::ArrayRef<const Node *> inputs;
  llvm::DenseMap<unsigned, mlir::Value> emitted;
};

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONMATCHER_H
