// Expands reductions whose order matters: kernels combine elements in any order.
#include "tilewright/transform/simplify/Patterns.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

using namespace mlir;

namespace tilewright::simplify {

namespace {

/// Combines neighbours, then neighbouring pairs, and so on: the order is row-major, as in the
/// reference interpreter, and the grouping is a tree.
class OrderedReduction {
public:
  OrderedReduction(stablehlo::ReduceOp op, RewriterBase &rewriter)
      : op(op), b(rewriter, op.getLoc()) {}

  SmallVector<Value> run() {
    SmallVector<Value> values, starts;
    for (auto [input, init, result] :
         llvm::zip_equal(op.getInputs(), op.getInitValues(), op.getResults())) {
      Type element = typeOf(result).getElementType();
      values.push_back(asRows(b.convert(input, element)));
      starts.push_back(b.broadcast(b.convert(init, element), typeOf(result).getShape()));
    }
    if (typeOf(values[0]).getNumElements() == 0)
      return starts;
    while (lengthOf(values) > 1)
      values = halved(values);
    for (auto [value, result] : llvm::zip_equal(values, op.getResults()))
      value = b.reshape(value, typeOf(result).getShape());
    return combine(starts, values);
  }

private:
  /// [rows, elements to reduce], both in row-major order.
  Value asRows(Value input) {
    RankedTensorType type = typeOf(input);
    SmallVector<int64_t> reduced(op.getDimensions()), order;
    llvm::sort(reduced);
    int64_t rows = 1, length = 1;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      const bool isKept = !llvm::is_contained(reduced, dim);
      (isKept ? rows : length) *= type.getDimSize(static_cast<unsigned>(dim));
      if (isKept)
        order.push_back(dim);
    }
    llvm::append_range(order, reduced);
    return b.reshape(b.transpose(input, order), {rows, length});
  }

  static int64_t lengthOf(ValueRange values) { return typeOf(values[0]).getDimSize(1); }

  SmallVector<Value> combine(ValueRange lhs, ValueRange rhs) {
    SmallVector<Value> arguments(lhs);
    llvm::append_range(arguments, rhs);
    return b.apply(op.getBody(), arguments);
  }

  SmallVector<Value> halved(ValueRange values) {
    const int64_t length = lengthOf(values), pairs = length / 2;
    auto every = [&](int64_t start, int64_t count) {
      return llvm::map_to_vector(
          values, [&](Value value) { return b.sliceAlong(value, 1, start, count, 2); });
    };
    SmallVector<Value> results = combine(every(0, pairs), every(1, pairs));
    if (length % 2 != 0)
      for (auto [result, last] : llvm::zip_equal(results, every(length - 1, 1)))
        result = b.concatenate({result, last}, 1);
    return results;
  }

  stablehlo::ReduceOp op;
  TensorBuilder b;
};

} // namespace

LogicalResult expandReduce(stablehlo::ReduceOp op, RewriterBase &rewriter) {
  if (!llvm::all_of(op->getOperands(), isStatic) || !llvm::all_of(op->getResults(), isStatic))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (std::string why = whyNotElementwise(op.getBody()); !why.empty())
    return rewriter.notifyMatchFailure(op, why);
  rewriter.replaceOp(op, OrderedReduction(op, rewriter).run());
  return success();
}

} // namespace tilewright::simplify
