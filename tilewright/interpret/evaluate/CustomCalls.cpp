#include "tilewright/interpret/evaluate/CustomCalls.h"

#include "tilewright/interpret/Checks.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

static Status needTwoTensors(std::span<const RuntimeValue> inputs) {
  if (inputs.size() != 2)
    return Status(Error::interpretCheck,
                  concat("a check must have two operands, got ", inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].isTensor())
      return Status(Error::interpretCheck,
                    concat("operand ", i, " of a check must be a tensor, got ",
                           inputs[i].isTuple() ? "a tuple" : "a token"));
  return Status();
}

/// Makes a custom call without results from a comparison of two tensors.
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

/// Returns the last operands (transform/distribute/ShardingRules.h).
static Result<RuntimeValues> passOnResults(mlir::Operation *call,
                                           std::span<const RuntimeValue> inputs, Context &) {
  if (inputs.size() < call->getNumResults())
    return Status(Error::interpretShape,
                  concat("tilewright.sharding_rule returns its last operands, got ", inputs.size(),
                         " operands and ", call->getNumResults(), " results"));
  inputs = inputs.last(call->getNumResults());
  return RuntimeValues(inputs.begin(), inputs.end());
}

/// jax.export's assertion about dynamic sizes: the first operand is the condition, and the other
/// operands replace {0}, {1} … in the error message.
static Result<RuntimeValues> assertShape(mlir::Operation *call,
                                         std::span<const RuntimeValue> inputs, Context &) {
  for (const RuntimeValue &input : inputs)
    if (!input.isTensor() || input.tensor().elementCount() != 1)
      return Status(Error::interpretShape, "operands of shape_assertion must be scalars");
  if (inputs.empty() || inputs[0].tensor().indexAt(0) != 0)
    return RuntimeValues();
  std::string message = "an assertion about the shapes of the inputs does not hold";
  if (auto text = call->getAttrOfType<mlir::StringAttr>("error_message"))
    message = text.str();
  for (size_t i = 1; i < inputs.size(); ++i) {
    const std::string placeholder = concat("{", i - 1, "}"), value = inputs[i].tensor().toString();
    for (size_t at = 0; (at = message.find(placeholder, at)) != message.npos; at += value.size())
      message.replace(at, placeholder.size(), value);
  }
  return Status(Error::interpretShape, std::move(message));
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
    calls.add("shape_assertion", assertShape);
    // JAX's request to compute one value before another; the evaluator runs ops in program order.
    calls.add("control_dep",
              [](mlir::Operation *, std::span<const RuntimeValue>,
                 Context &) -> Result<RuntimeValues> { return RuntimeValues(); });
    for (llvm::StringRef target :
         {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint",
          "annotate_device_placement", "MoveToHost", "MoveToDevice", "xla.sdy.FuncResultSharding"})
      calls.add(target, passOn);
    calls.add("tilewright.sharding_rule", passOnResults);
    return calls;
  }();
  return calls;
}

} // namespace tilewright::interpret
