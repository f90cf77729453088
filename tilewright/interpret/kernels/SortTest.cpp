#include "tilewright/interpret/kernels/Sort.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

/// (a, b, …): a < b on the first input alone.
static ScalarFunction lessOfFirst(std::vector<ElementType> arguments) {
  const ElementType type = arguments[0];
  ScalarFunction::Builder builder(std::move(arguments));
  auto less = builder.append(ScalarOp::compareLt, type, {0, 1});
  builder.addResult(*less, ElementType::pred);
  return std::move(builder).finish();
}

TEST(Sort, AgreesWithTheStandardLibraryAlongAnyDimension) {
  Context context;
  for (int64_t length : {1, 2, 3, 5, 8, 33, 100}) {
    Tensor keys = wholeNumbers(ElementType::f32, {2, length, 3}, 7);
    Tensor payload = *Tensor::allocate(ElementType::i32, keys.shape(), context);
    for (int64_t i = 0; i < payload.elementCount(); ++i)
      payload.set(i, Scalar::ofSigned(i));
    const std::vector<Tensor> inputs = {keys, payload};
    const ScalarFunction less =
        lessOfFirst({ElementType::f32, ElementType::f32, ElementType::i32, ElementType::i32});
    for (int64_t dim : {1, -2}) {
      std::vector<Tensor> results = *sort(inputs, dim, less, context);
      const std::vector<double> before = valuesOf(keys), after = valuesOf(results[0]);
      const std::vector<double> moved = valuesOf(results[1]);
      for (int64_t a = 0; a < 2; ++a)
        for (int64_t c = 0; c < 3; ++c) {
          std::vector<int64_t> order;
          for (int64_t b = 0; b < length; ++b)
            order.push_back((a * length + b) * 3 + c);
          const std::vector<int64_t> places = order;
          // Equal keys keep their order: stable.
          std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
            return std::pair(before[static_cast<size_t>(x)], x) <
                   std::pair(before[static_cast<size_t>(y)], y);
          });
          for (size_t b = 0; b < order.size(); ++b) {
            EXPECT_EQ(moved[static_cast<size_t>(places[b])], static_cast<double>(order[b]));
            EXPECT_EQ(after[static_cast<size_t>(places[b])], before[static_cast<size_t>(order[b])]);
          }
        }
    }
  }
}

TEST(Sort, ComparatorsThatContradictThemselvesStayInBounds) {
  // Always true, never true, and NaN: the result is some permutation.
  Context context;
  Tensor input = tensorOf(ElementType::f32, {40}, std::vector<double>(40, NAN));
  for (int64_t i = 0; i < 40; i += 2)
    input.set(i, Scalar::ofReal(static_cast<double>(i)));
  for (ScalarOp op :
       {ScalarOp::compareNe, ScalarOp::compareEq, ScalarOp::compareGe, ScalarOp::compareLt}) {
    std::vector<Tensor> results =
        *sort({&input, 1}, 0, ScalarFunction::single(op, ElementType::f32), context);
    std::vector<double> values = valuesOf(results[0]);
    EXPECT_EQ(std::count_if(values.begin(), values.end(), [](double v) { return std::isnan(v); }),
              20);
    std::erase_if(values, [](double v) { return std::isnan(v); });
    EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0), 380);
  }
}

TEST(Sort, TotalOrderPutsNaNsLast) {
  Context context;
  Tensor input = tensorOf(ElementType::f32, {5}, {NAN, 1, -INFINITY, 0.0, -0.0});
  std::vector<Tensor> results = *sort(
      {&input, 1}, 0, ScalarFunction::single(ScalarOp::totalOrderLt, ElementType::f32), context);
  const std::vector<double> values = valuesOf(results[0]);
  EXPECT_EQ(values[0], -INFINITY);
  EXPECT_TRUE(std::signbit(values[1]) && !std::signbit(values[2]));
  EXPECT_EQ(values[3], 1);
  EXPECT_TRUE(std::isnan(values[4]));
}

TEST(Sort, ScalarsAndEmptyInputsAreSorted) {
  Context context;
  const ScalarFunction less = lessOfFirst({ElementType::f32, ElementType::f32});
  Tensor scalar = tensorOf(ElementType::f32, {}, {1}),
         empty = tensorOf(ElementType::f32, {2, 0}, {});
  EXPECT_EQ((*sort({&scalar, 1}, 0, less, context))[0].toString(), "1");
  EXPECT_EQ((*sort({&empty, 1}, 1, less, context))[0].elementCount(), 0);
}

TEST(Sort, WhatDoesNotFitIsRefused) {
  Context context;
  const ScalarFunction less = lessOfFirst({ElementType::f32, ElementType::f32});
  Tensor input = wholeNumbers(ElementType::f32, {3}, 1),
         whole = wholeNumbers(ElementType::i32, {3}, 1);
  Status status = sort({&input, 1}, 1, less, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("dimension must be in [0, 1)"));
  status = sort({&whole, 1}, 0, less, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("must be i32, the type of input 0"));
  const ScalarFunction failing(
      {ElementType::f32, ElementType::f32}, {ElementType::pred},
      [](const Scalar *, Scalar *) { return Status(Code::internal, "comparator"); });
  EXPECT_EQ(sort({&input, 1}, 0, failing, context).takeStatus().message(), "comparator");
}
