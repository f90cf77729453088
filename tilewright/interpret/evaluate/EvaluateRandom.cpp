#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/kernels/RandomBits.h"

namespace tilewright::interpret {

static Status evaluateRngBitGenerator(stablehlo::RngBitGeneratorOp op, OpCall &call) {
  // Both enumerations have the same order.
  const auto algorithm = static_cast<RandomAlgorithm>(op.getRngAlgorithm());
  TILEWRIGHT_ASSIGN(Shape shape, call.resultShape(1));
  TILEWRIGHT_ASSIGN(
      RandomBits random,
      randomBits(algorithm, call.tensor(0), call.resultElementType(1), shape, call.context()));
  call.results = {std::move(random.state), std::move(random.bits)};
  return Status();
}

static Status evaluateRng(stablehlo::RngOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(call.integers(2)));
  RandomStream &stream = call.evaluation.random;
  if (op.getRngDistribution() == stablehlo::RngDistribution::UNIFORM)
    return call.give(randomUniform(call.tensor(0), call.tensor(1), shape, stream, call.context()));
  return call.give(randomNormal(call.tensor(0), call.tensor(1), shape, stream, call.context()));
}

void addRandomHandlers(HandlerTable &table) {
  add<stablehlo::RngBitGeneratorOp, evaluateRngBitGenerator>(table);
  add<stablehlo::RngOp, evaluateRng>(table);
}

} // namespace tilewright::interpret
