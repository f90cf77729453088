#include "tilewright/transform/distribute/rules/Rules.h"

#include <numeric>

using namespace mlir;

namespace tilewright::distribute {

int64_t elementsPerCounter(stablehlo::RngBitGeneratorOp op) {
  const bool isWide =
      cast<RankedTensorType>(op.getOutput().getType()).getElementTypeBitWidth() == 64;
  if (op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY)
    return isWide ? 1 : 2;
  return isWide ? 2 : 4;
}

/// Counters run over elements in row-major order, so only the outermost dimension can be sharded,
/// and only into whole numbers of counters: its innermost part is a loop that stays whole.
ShardingRule randomBitsRule(stablehlo::RngBitGeneratorOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "makes random bits along an inner dimension of";
  ArrayRef<int64_t> shape = shapeOf(op.getOutput());
  if (!cast<RankedTensorType>(op.getInitialState().getType()).getElementType().isInteger(64))
    return rule;
  size_t dim = 0;
  while (dim < shape.size() && shape[dim] == 1)
    ++dim;
  if (dim == shape.size() || llvm::is_contained(shape, 0))
    return rule;
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(dim + 1))
    inner *= size;
  const int64_t perCounter = elementsPerCounter(op);
  // Threefry pairs rows of 32 bits, Philox groups elements.
  const int64_t rows = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY
                           ? perCounter
                           : perCounter / std::gcd(perCounter, inner);
  if (shape[dim] % rows != 0)
    return rule;
  rule.results[1][dim] = {rule.add(shape[dim] / rows), rule.add(rows, LoopKind::whole)};
  return rule;
}

} // namespace tilewright::distribute
