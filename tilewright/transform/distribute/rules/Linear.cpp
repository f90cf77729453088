#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::distribute {

/// Whether a sum of converted terms is the converted sum: exact for integers that keep their width
/// or lose high bits, which wrap; floats may only gain precision.
static bool keepsSums(Type from, Type to) {
  if (auto one = dyn_cast<IntegerType>(from))
    if (auto other = dyn_cast<IntegerType>(to))
      return one.getWidth() > 1 && other.getWidth() > 1 && other.getWidth() <= one.getWidth();
  auto one = dyn_cast<FloatType>(from), other = dyn_cast<FloatType>(to);
  return one && other &&
         APFloat::isRepresentableBy(one.getFloatSemantics(), other.getFloatSemantics());
}

SmallVector<SmallVector<unsigned, 2>, 1> linearOperands(Operation *op) {
  using Sets = SmallVector<SmallVector<unsigned, 2>, 1>;
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return {};
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (element.isInteger(1) || !element.isIntOrFloat())
    return {};
  // An op that computes in the type of its result converts its operands first.
  auto keepsSumsOf = [&](unsigned operand) {
    return keepsSums(getElementTypeOrSelf(op->getOperand(operand)), element);
  };
  auto first = [](unsigned count) {
    SmallVector<unsigned, 2> all;
    for (unsigned i = 0; i < count; ++i)
      all.push_back(i);
    return all;
  };
  // If it is scaled, a term may exceed the range of a narrow float although the sum does not.
  const bool isScalable =
      !isa<FloatType>(element) || element.isBF16() || element.isF32() || element.isF64();
  return llvm::TypeSwitch<Operation *, Sets>(op)
      .Case<stablehlo::AddOp, stablehlo::SubtractOp>([&](Operation *) -> Sets { return {{0, 1}}; })
      .Case<stablehlo::NegateOp, stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::SliceOp,
            stablehlo::ReverseOp, stablehlo::BroadcastInDimOp>(
          [&](Operation *) -> Sets { return {{0}}; })
      .Case<stablehlo::DynamicSliceOp, stablehlo::GatherOp>(
          [&](Operation *) -> Sets { return {{0}}; })
      .Case<stablehlo::DynamicUpdateSliceOp, stablehlo::PadOp>(
          [&](Operation *) -> Sets { return {{0, 1}}; })
      .Case([&](stablehlo::ConvertOp op) -> Sets {
        if (!keepsSumsOf(0))
          return {};
        return {{0}};
      })
      .Case([&](stablehlo::ConcatenateOp op) -> Sets { return {first(op->getNumOperands())}; })
      .Case([&](stablehlo::SelectOp) -> Sets { return {{1, 2}}; })
      .Case([&](stablehlo::ReduceOp op) -> Sets {
        if (combinerOf(op.getBody()) != "stablehlo.add" ||
            !isNeutral(op.getInitValues()[0], "stablehlo.add") || !keepsSumsOf(0))
          return {};
        return {{0}};
      })
      .Case([&](stablehlo::MultiplyOp) -> Sets {
        if (!isScalable)
          return {};
        return {{0}, {1}};
      })
      .Case([&](stablehlo::DivideOp) -> Sets {
        if (!isScalable || !isa<FloatType>(element))
          return {};
        return {{0}};
      })
      .Case<stablehlo::DotGeneralOp, stablehlo::DotOp>([&](Operation *op) -> Sets {
        // The result may be of a wider float, but integers wrap where they are added: their terms
        // are those of the sum only in the operand's own width.
        Sets sets;
        for (unsigned operand : {0U, 1U})
          if (isScalable && keepsSumsOf(operand))
            sets.push_back({operand});
        return sets;
      })
      .Default([](Operation *) -> Sets { return {}; });
}

} // namespace tilewright::distribute
