// The backward pass of attention: products of weights that are computed again from row values.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONBACKWARD_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONBACKWARD_H

#include "tilewright/transform/fuse/cascade/AttentionMatcher.h"

namespace tilewright::cascade {

/// Matches the products, other than the second one, that read values computed from the scores:
///
///   sum over keys of f(score, rows) * keys, sum over queries of f(score, rows) * queries, and
///   sum over queries of g(score, rows) * cotangent,
///
/// where f and g are any functions of the score, of the product of cotangent and values, of tensors
/// that the body can read, and of numbers for each row: the maximum and the sum of the softmax, and
/// a sum over keys of weights times the product of cotangent and values. That one is, by
/// associativity, the product of a row of the cotangent and of the result.
class BackwardMatcher {
public:
  /// `forward` must have been matched before match() is called. If match() fails, it stores the
  /// reason there.
  explicit BackwardMatcher(AttentionMatcher &forward) : forward(forward) {}

  bool match();
  /// Creates exec.softmax_dot_backward for the op of the forward pass (for GPUs, one that sums over
  /// keys and one that sums over queries), and replaces the products by its results. Returns values
  /// that may be dead now.
  llvm::SmallVector<mlir::Value> replace(exec::SoftmaxDotOp op);

private:
  /// A product of values that have an element for each query and key.
  struct Product {
    stablehlo::DotGeneralOp dot;
    const Node *map = nullptr; // these values
    mlir::Type rounded;        // their type
    Operand other, result;
    Operand asRead; // `other` before ops that repeat or reorder it were skipped
  };

  bool place(stablehlo::DotGeneralOp dot, Product &product, View &summed);
  bool findCotangents();
  bool classify(const Product &product, const View &summed);
  bool isOnlyReader();
  bool checkNumbers(const Node &root);
  bool isRowDot(const Reduction &reduction) const;
  bool isLikeResult() const;
  bool vanishes(const Node &node);
  bool findVanishing(const Node &node);
  std::pair<mlir::RankedTensorType, View> resultOf(unsigned number) const;
  std::optional<View> viewOf(mlir::Value value);
  bool isGpu() const;
  bool mayRoundToTf32();
  stablehlo::DotGeneralOp productOfCotangents() const;
  /// Creates the op for some of the gradients. Without `rowDot`, it reads the result of the forward
  /// pass.
  exec::SoftmaxDotBackwardOp create(mlir::OpBuilder &builder, exec::SoftmaxDotOp op,
                                    llvm::ArrayRef<int64_t> gradients, mlir::Value rowDot);

  AttentionMatcher &forward;
  Product products[3]; // for gradients of queries, keys and values; no op if not wanted
  const Node *cotangents = nullptr; // the product of cotangent and values
  Operand cotangent;
  Operand unmoved; // the result of the forward pass as the program has it
  llvm::SmallVector<const Node *> inputs;
  llvm::DenseMap<mlir::Value, std::optional<View>> views;
  llvm::DenseMap<const Node *, bool> vanishing; // what vanishes() returned before
};

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_ATTENTIONBACKWARD_H
