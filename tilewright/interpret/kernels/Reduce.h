// reduce, and the order in which all reductions of the evaluator combine their elements.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_REDUCE_H
#define TILEWRIGHT_INTERPRET_KERNELS_REDUCE_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Indexing.h"
#include "tilewright/support/WorkLimit.h"

namespace tilewright::interpret {

/// Combines a sequence of elements with a body, as
///
///   body(init, tree)        tree of runs: ((run run) (run run)) run
///                           run of elements: ((a b) c) d …, up to 32
///
/// The elements of a run are combined sequentially, as other implementations combine short
/// sequences. The tree of runs is balanced, so that the error of a floating-point sum grows only
/// with the logarithm of its length. The specification allows any tree, but requires the order of
/// the leaves, which is kept. The body determines the precision: each combination is rounded to the
/// body's result type. Memory is logarithmic in the length.
///
///   TreeReduction tree(body);
///   tree.start(inits);
///   for (…) TILEWRIGHT_TRY(tree.add(element));   // one Scalar for each of the body's results
///   TILEWRIGHT_TRY(tree.finish());               // then tree.result()
class TreeReduction {
public:
  /// The body must have 2N arguments and N results.
  explicit TreeReduction(const ScalarFunction &body)
      : call(body), width(body.resultTypes().size()), stack(width * (maxDepth + 1)) {
    // Most bodies are a single operation, which needs no registers.
    if (std::optional<ScalarOp> op = body.singleBinaryOp())
      single = operationFor(*op, body.argumentTypes()[0]);
  }

  void start(const Scalar *inits) {
    std::copy_n(inits, width, stack.data());
    depth = 1;
    inRun = runs = 0;
  }

  Status add(const Scalar *element) {
    std::copy_n(element, width, &stack[depth++ * width]);
    if (inRun++ > 0)
      TILEWRIGHT_TRY(combineTop());
    if (inRun < runLength)
      return Status();
    inRun = 0;
    if (WorkLimit::mustStop())
      return Status(Code::cancelled, "the work limit is reached");
    // Merge two trees of equal size whenever a bit of the count carries over.
    for (uint64_t carry = ++runs; (carry & 1) == 0; carry >>= 1)
      TILEWRIGHT_TRY(combineTop());
    return Status();
  }

  Status finish() {
    while (depth > 1)
      TILEWRIGHT_TRY(combineTop());
    return Status();
  }

  const Scalar *result() const { return stack.data(); }

private:
  static constexpr uint64_t runLength = 32;
  static constexpr size_t maxDepth = 65;

  /// Replaces the top two entries by their combination. They are adjacent in memory, in the order
  /// of the body's arguments, so nothing is copied.
  Status combineTop() {
    Scalar *lhs = &stack[(depth - 2) * width];
    --depth;
    if (!single)
      return call(lhs, lhs);
    lhs[0] = single(lhs[0], lhs[1], lhs[1]);
    return Status();
  }

  ScalarCall call;
  Operation single = nullptr;
  size_t width;
  std::vector<Scalar> stack;
  size_t depth = 0;
  uint64_t inRun = 0, runs = 0;
};

/// Checks the common requirements of reductions: the number of inits equals that of inputs, the
/// body has twice as many arguments, inputs have the same shape, and inits are scalars.
///  - interpretShape, operandType
Status checkReduction(std::string_view op, std::span<const Tensor> inputs,
                      std::span<const Tensor> inits, const ScalarFunction &body);

/// The init values in the body's types.
Result<std::vector<Scalar>> initScalars(std::span<const Tensor> inits, const ScalarFunction &body,
                                        Context &context);

/// Reduces all inputs together along `dimensions`. The results have the types of the body's
/// results; inputs and inits are first converted to these types.
///  - interpretShape, operandType: operands and body do not match.
Result<std::vector<Tensor>> reduce(std::span<const Tensor> inputs, std::span<const Tensor> inits,
                                   std::span<const int64_t> dimensions, const ScalarFunction &body,
                                   Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_REDUCE_H
