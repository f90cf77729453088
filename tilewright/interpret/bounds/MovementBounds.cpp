// Bounds of ops that move elements: a bound moves with its element.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/bounds/BoundsEvaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tilewright::interpret {

/// The number of leading operands whose elements are moved; the other operands are indices and
/// shapes.
static size_t movedOperands(Operation *op) {
  if (isa<stablehlo::ConcatenateOp>(op))
    return op->getNumOperands();
  return isa<stablehlo::PadOp, stablehlo::DynamicPadOp, stablehlo::DynamicUpdateSliceOp>(op) ? 2
                                                                                             : 1;
}

Status BoundsEvaluator::setMovement(Operation *op, const Operands &operands, Results &results) {
  if (std::ranges::all_of(operands, [](const Bounded &b) { return b.isExact(); }))
    return {};
  const size_t moved = movedOperands(op);
  std::vector<Tensor> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i >= moved && !operands[i].isExact())
      return std::ranges::fill(results[0].bounds, unknown), Status();
    if (i >= moved) {
      values.push_back(operands[i].tensor());
      continue;
    }
    TILEWRIGHT_ASSIGN(Tensor bounds, doubles(operands[i].tensor(), operands[i].bounds));
    values.push_back(std::move(bounds));
  }
  TILEWRIGHT_ASSIGN(std::vector<Tensor> made, onDoubles(op, std::move(values)));
  const auto count = static_cast<size_t>(made[0].elementCount());
  results[0].bounds.resize(count);
  if (count > 0)
    std::memcpy(results[0].bounds.data(), made[0].data(), count * sizeof(double));
  return {};
}

Status BoundsEvaluator::setSort(Operation *op, const Operands &operands, Results &results) {
  auto sort = cast<stablehlo::SortOp>(op);
  bool allExact = true, comparesAsNumbers = false;
  for (const Bounded &operand : operands)
    allExact &= operand.isExact();
  sort.getComparator().walk([&](stablehlo::CompareOp compare) {
    auto element = cast<RankedTensorType>(compare.getLhs().getType()).getElementType();
    comparesAsNumbers |= isa<FloatType>(element) &&
                         compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
  });
  bool hasNan = false, hasBothZeros = false;
  double worst = 0;
  for (const Bounded &operand : operands)
    for (int64_t i = 0; i < operand.tensor().elementCount(); ++i) {
      worst = std::max(worst, operand.bounds[static_cast<size_t>(i)]);
      if (numerics::isReal(operand.tensor().type())) {
        const double value = operand.tensor().at(i).r;
        hasNan |= std::isnan(value);
        hasBothZeros |= value == 0 && std::signbit(value);
      }
    }
  // A NaN is unordered with respect to numbers, so any order is possible.
  const bool isOpen = hasNan && comparesAsNumbers;
  if (allExact && !isOpen) {
    if (hasBothZeros && allowance.contracts && comparesAsNumbers)
      for (Bounded &result : results)
        for (double &bound : result.bounds)
          bound = unknown;
    return {};
  }
  // Sorting by value is a contraction: no element of the result changes by more than the largest
  // bound.
  const bool isByValue = operands.size() == 1 && !isOpen && !hasNan;
  for (Bounded &result : results)
    std::ranges::fill(result.bounds, isByValue ? worst : unknown);
  return {};
}

} // namespace tilewright::interpret
