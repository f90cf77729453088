#include "tilewright/interpret/ScalarFunction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::interpret;

static constexpr ElementType f32 = ElementType::f32;
static constexpr ElementType i32 = ElementType::i32;

TEST(ScalarFunction, RunsAProgramWithConstants) {
  // (a + 1) * b, and a < b
  ScalarFunction::Builder builder({f32, f32});
  auto one = *builder.constant(Scalar::ofReal(1));
  auto sum = *builder.append(ScalarOp::add, f32, {0, one});
  auto product = *builder.append(ScalarOp::multiply, f32, {sum, 1});
  auto below = *builder.append(ScalarOp::compareLt, f32, {0, 1});
  builder.addResult(product, f32);
  builder.addResult(below, ElementType::pred);
  ScalarFunction function = std::move(builder).finish();

  ScalarCall call(function);
  Scalar arguments[] = {Scalar::ofReal(2), Scalar::ofReal(5)};
  Scalar results[2];
  ASSERT_TRUE(call(arguments, results).isOk());
  EXPECT_EQ(results[0].r, 15);
  EXPECT_EQ(results[1].u, 1u);
  EXPECT_EQ(function.singleBinaryOp(), std::nullopt);
}

TEST(ScalarFunction, ResultsMayOverlapArguments) {
  // Swaps its arguments.
  ScalarFunction::Builder builder({i32, i32});
  builder.addResult(1, i32);
  builder.addResult(0, i32);
  ScalarFunction function = std::move(builder).finish();
  ScalarCall call(function);
  Scalar values[] = {Scalar::ofSigned(1), Scalar::ofSigned(2)};
  ASSERT_TRUE(call(values, values).isOk());
  EXPECT_EQ(values[0].i, 2);
  EXPECT_EQ(values[1].i, 1);
}

TEST(ScalarFunction, RecognisesASingleOperation) {
  EXPECT_EQ(ScalarFunction::single(ScalarOp::add, f32).singleBinaryOp(), ScalarOp::add);

  ScalarFunction::Builder swapped({f32, f32});
  swapped.addResult(*swapped.append(ScalarOp::maximum, f32, {1, 0}), f32);
  EXPECT_EQ(std::move(swapped).finish().singleBinaryOp(), ScalarOp::maximum);

  ScalarFunction::Builder difference({f32, f32});
  difference.addResult(*difference.append(ScalarOp::subtract, f32, {1, 0}), f32);
  EXPECT_EQ(std::move(difference).finish().singleBinaryOp(), std::nullopt);
}

TEST(ScalarFunction, RecognisesAReturnedArgument) {
  ScalarFunction::Builder builder({f32, f32});
  builder.addResult(1, f32);
  EXPECT_EQ(std::move(builder).finish().returnedArgument(), 1);
}

TEST(ScalarFunction, RefusesAnOperationTheTypeDoesNotHave) {
  ScalarFunction::Builder builder({f32, f32});
  EXPECT_EQ(builder.append(ScalarOp::bitXor, f32, {0, 1}), std::nullopt);
}

TEST(ScalarFunction, CallbackFailurePassesThrough) {
  ScalarFunction function({f32}, {f32},
                          [](const Scalar *, Scalar *) { return Status(Code::internal, "no"); });
  ScalarCall call(function);
  Scalar value;
  EXPECT_EQ(call(&value, &value).message(), "no");
}
