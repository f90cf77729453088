#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/distribute/local/Forms.h"
#include "tilewright/transform/distribute/local/Halo.h"
#include "tilewright/transform/distribute/local/LocalBuilder.h"
#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

/// Each device starts at the counter of its first element. Together the devices generate the same
/// bits as a single one, because a generator uses counters in row-major order and each shard has a
/// whole number of them (randomBitsRule()).
Status computeRandomBits(stablehlo::RngBitGeneratorOp op, const OpPlan &plan,
                         ShardBuilder &shards) {
  auto type = cast<RankedTensorType>(op.getOutput().getType());
  Axes axes;
  for (const ShardingRule::Dim &dim : plan.rule.results[1])
    if (!dim.empty())
      axes = plan.axesOf(dim[0]);
  if (axes.empty())
    return Status();
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  ShardedDim along(builder, op.getLoc(), shards, *plan.mesh, axes, 0);
  Value state = op.getInitialState();
  auto stateType = cast<RankedTensorType>(state.getType());
  Type word = stateType.getElementType();
  const bool isThreeFry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  const int64_t used = type.getNumElements() / elementsPerCounter(op);

  auto number = [&](int64_t value) {
    return b.splat(RankedTensorType::get({1}, word), builder.getIntegerAttr(word, value));
  };
  auto carryOf = [&](Value sum, Value term) {
    return b.convert(b.compare(sum, stablehlo::ComparisonDirection::LT, term), word);
  };
  Value key = b.slice(state, 0, 0, 1), low = b.slice(state, 0, 1, 2);
  Value high = stateType.getDimSize(0) == 3 ? b.slice(state, 0, 2, 3) : key;
  Value coordinate = b.convert(b.reshape(along.lookUp(along.affine(0, 1)), {1}), word);
  Value first = b.add(low, b.binary<stablehlo::MultiplyOp>(coordinate, number(used)));
  SmallVector<Value> words = {key, first};
  if (!isThreeFry)
    words.push_back(b.add(high, carryOf(first, low)));
  auto made = stablehlo::RngBitGeneratorOp::create(
      builder, op.getLoc(), RankedTensorType::get({static_cast<int64_t>(words.size())}, word), type,
      op.getRngAlgorithm(), b.concatenate(words, 0));

  // The state after the counters of all devices.
  Value next = b.add(low, number(used * along.count()));
  words = {key, next};
  if (stateType.getDimSize(0) == 3)
    words.push_back(b.add(high, carryOf(next, low)));
  op.getOutputState().replaceAllUsesWith(b.concatenate(words, 0));
  op.getOutput().replaceAllUsesWith(made.getOutput());
  op->erase();
  return Status();
}

} // namespace tilewright::distribute
