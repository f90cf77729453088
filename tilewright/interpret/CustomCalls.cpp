#include "tilewright/interpret/CustomCalls.h"

#include "tilewright/interpret/Checks.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

static Status needTwoTensors(std::span<const RuntimeValue> inputs) {
  if (inputs.size() == 2 && inputs[0].isTensor() && inputs[1].isTensor())
    return Status();
  return Status(Error::interpretCheck,
                concat("a check compares two tensors, got ", inputs.size(), " operands"));
}

/// A check without results, from a comparison of two tensors.
template <typename Compare> static CustomCalls::Function checkBy(Compare compare) {
  return [compare](mlir::Operation *, std::span<const RuntimeValue> inputs,
                   Context &) -> Result<RuntimeValues> {
    TILEWRIGHT_TRY(needTwoTensors(inputs));
    TILEWRIGHT_TRY(compare(inputs[0].tensor(), inputs[1].tensor()));
    return RuntimeValues();
  };
}

static Result<RuntimeValues> answerEqual(mlir::Operation *, std::span<const RuntimeValue> inputs,
                                         Context &context) {
  TILEWRIGHT_TRY(needTwoTensors(inputs));
  const bool equal = expectAlmostEqual(inputs[1].tensor(), inputs[0].tensor(), 1e-4).isOk();
  TILEWRIGHT_ASSIGN(Tensor answer,
                    Tensor::scalar(ElementType::pred, Scalar::ofUnsigned(equal), context));
  return RuntimeValues{std::move(answer)};
}

static Result<RuntimeValues> passOn(mlir::Operation *, std::span<const RuntimeValue> inputs,
                                    Context &) {
  return RuntimeValues(inputs.begin(), inputs.end());
}

const CustomCalls &CustomCalls::standard() {
  static const CustomCalls calls = [] {
    CustomCalls calls;
    calls.add("check.expect_eq", checkBy(expectEqual));
    calls.add("check.expect_close", checkBy([](const Tensor &actual, const Tensor &expected) {
                return expectClose(actual, expected, 3);
              }));
    calls.add("check.expect_almost_eq", checkBy([](const Tensor &actual, const Tensor &expected) {
                return expectAlmostEqual(actual, expected, 1e-3);
              }));
    calls.add("check.eq", answerEqual);
    for (llvm::StringRef target :
         {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint",
          "annotate_device_placement", "MoveToHost", "MoveToDevice", "xla.sdy.FuncResultSharding"})
      calls.add(target, passOn);
    return calls;
  }();
  return calls;
}

} // namespace tilewright::interpret
