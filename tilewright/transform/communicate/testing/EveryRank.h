// For tests: a module's @main, evaluated on all ranks with random operands.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_TESTING_EVERYRANK_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_TESTING_EVERYRANK_H

#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::communicate {

/// An i32 tensor of numbers from -range to range, whose sums are exact in every order.
inline interpret::Tensor smallIntegers(mlir::Type type, std::mt19937 &random, unsigned range) {
  interpret::Context limits;
  auto shape = *interpret::staticShapeOf(mlir::cast<mlir::RankedTensorType>(type));
  interpret::Tensor tensor =
      *interpret::Tensor::allocate(numerics::ElementType::i32, shape, limits);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    tensor.set(i, numerics::Scalar::ofSigned(int64_t(random() % (2 * range + 1)) - int64_t(range)));
  return tensor;
}

/// The results of all ranks; none if the evaluation fails, which also fails the test.
/// `operand(type, random)` makes an operand.
template <typename Operand>
std::vector<interpret::RuntimeValues> evaluateOnEveryRank(mlir::ModuleOp module,
                                                          interpret::RankGrid grid, unsigned seed,
                                                          const Operand &operand) {
  std::mt19937 random(seed);
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<interpret::RuntimeValues> inputs(size_t(grid.replicas * grid.partitions));
  for (interpret::RuntimeValues &own : inputs)
    for (mlir::Type type : main.getArgumentTypes())
      own.push_back(interpret::RuntimeValue(operand(type, random)));
  Result<std::vector<interpret::RuntimeValues>> results =
      interpret::evaluateRanks(module, "main", grid, inputs, {});
  EXPECT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
  return results.isOk() ? *std::move(results) : std::vector<interpret::RuntimeValues>();
}

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_TESTING_EVERYRANK_H
