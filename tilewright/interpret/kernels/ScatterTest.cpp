#include "tilewright/interpret/kernels/Scatter.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static bool contains(const Dims &dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// The specification's definition with `add`, one update at a time, except that a window that is
/// partly out of bounds is skipped as a whole.
static std::vector<double> definition(const Tensor &input, const Tensor &indices,
                                      const Tensor &updates, const ScatterDimensions &dims) {
  std::vector<double> result = valuesOf(input);
  const std::vector<double> values = valuesOf(updates);
  const Dims strides = updates.shape().strides();
  for (StridedWalk<1> walk(updates.shape().dims(), {strides}); !walk.done(); walk.next()) {
    Dims scatterIndex, windowIndex;
    for (int64_t d = 0; d < updates.rank(); ++d)
      (contains(dims.updateWindowDims, d) ? windowIndex : scatterIndex)
          .push_back(walk.index()[static_cast<size_t>(d)]);
    Dims place(static_cast<size_t>(input.rank()), 0);
    for (size_t s = 0; s < dims.scatterDimsToOperandDims.size(); ++s) {
      Dims at = scatterIndex;
      if (dims.indexVectorDim < indices.rank())
        at.insert(at.begin() + dims.indexVectorDim, static_cast<int64_t>(s));
      int64_t offset = 0;
      for (size_t i = 0; i < at.size(); ++i)
        offset = offset * indices.shape()[static_cast<int64_t>(i)] + at[i];
      place[static_cast<size_t>(dims.scatterDimsToOperandDims[s])] = indices.indexAt(offset);
    }
    for (size_t i = 0; i < dims.inputBatchingDims.size(); ++i) {
      const int64_t s = dims.scatterIndicesBatchingDims[i];
      place[static_cast<size_t>(dims.inputBatchingDims[i])] =
          scatterIndex[static_cast<size_t>(s - (s < dims.indexVectorDim ? 0 : 1))];
    }
    size_t next = 0;
    int64_t offset = 0;
    bool inside = true;
    for (int64_t d = 0; d < input.rank(); ++d) {
      int64_t within = 0, size = 1;
      if (!contains(dims.insertedWindowDims, d) && !contains(dims.inputBatchingDims, d)) {
        size = updates.shape()[dims.updateWindowDims[next]];
        within = windowIndex[next++];
      }
      const int64_t start = place[static_cast<size_t>(d)];
      inside &= start >= 0 && start + size <= input.shape()[d];
      offset = offset * input.shape()[d] + start + within;
    }
    if (inside)
      result[static_cast<size_t>(offset)] += values[static_cast<size_t>(walk.offset())];
  }
  return result;
}

TEST(Scatter, AgreesWithItsDefinition) {
  struct Case {
    std::vector<int64_t> input, indices, updates;
    ScatterDimensions dims;
  };
  const std::vector<Case> cases = {
      {{5, 3}, {4, 1}, {4, 3}, {{1}, {0}, {}, {}, {0}, 1}},
      {{5, 3}, {4}, {4, 2}, {{1}, {0}, {}, {}, {0}, 1}},
      {{5, 3}, {4}, {5, 4}, {{0}, {1}, {}, {}, {1}, 1}},
      {{5, 6, 2}, {2, 3}, {2, 3, 3}, {{0, 2}, {2}, {}, {}, {1, 0}, 0}},
      {{3, 4, 5}, {7, 3}, {7}, {{}, {0, 1, 2}, {}, {}, {2, 0, 1}, 1}},
      {{2, 3, 4, 2}, {2, 2, 3, 2}, {2, 2, 3, 2, 2}, {{3, 4}, {1}, {0}, {1}, {2, 1}, 3}},
      {{4, 5, 3}, {2, 2, 3}, {2, 3, 3}, {{1}, {0}, {2}, {2}, {1, 0}, 1}},
      {{6}, {1}, {}, {{}, {0}, {}, {}, {0}, 0}},
      {{5, 3}, {4, 1}, {4, 0}, {{1}, {0}, {}, {}, {0}, 1}},
      {{5, 3}, {0, 1}, {0, 3}, {{1}, {0}, {}, {}, {0}, 1}},
  };
  Context context;
  const ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  for (const Case &c : cases) {
    Tensor input = wholeNumbers(ElementType::f32, c.input, 1),
           updates = wholeNumbers(ElementType::f32, c.updates, 2);
    Tensor indices = wholeNumbers(ElementType::i16, c.indices, 3, -2, 6);
    Result<std::vector<Tensor>> results =
        scatter({&input, 1}, indices, {&updates, 1}, c.dims, sum, context);
    ASSERT_TRUE(results.isOk()) << std::move(results).takeStatus().toString();
    EXPECT_EQ(valuesOf((*results)[0]), definition(input, indices, updates, c.dims))
        << listed(c.input);
  }
}

TEST(Scatter, LaterUpdatesWinAndTheInputStays) {
  ScalarFunction::Builder builder({ElementType::i32, ElementType::i32});
  builder.addResult(1, ElementType::i32);
  const ScalarFunction replace = std::move(builder).finish();
  Context context;
  Tensor input = tensorOf(ElementType::i32, {3}, {1, 2, 3}),
         indices = tensorOf(ElementType::i32, {3}, {1, 1, 9});
  Tensor updates = tensorOf(ElementType::i32, {3}, {10, 20, 30});
  const ScatterDimensions dims{{}, {0}, {}, {}, {0}, 1};
  EXPECT_EQ((*scatter({&input, 1}, indices, {&updates, 1}, dims, replace, context))[0].toString(),
            "[1, 20, 3]");
  EXPECT_EQ(input.toString(), "[1, 2, 3]");
}

TEST(Scatter, AWindowPartlyOutsideIsLeftOutAsAWhole) {
  Context context;
  const ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  Tensor input = tensorOf(ElementType::f32, {5}, {0, 0, 0, 0, 0}),
         updates = tensorOf(ElementType::f32, {4, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  Tensor indices = tensorOf(ElementType::i32, {4, 1}, {3, -1, 2, 0});
  const ScatterDimensions dims{{1}, {}, {}, {}, {0}, 1};
  EXPECT_EQ((*scatter({&input, 1}, indices, {&updates, 1}, dims, sum, context))[0].toString(),
            "[4, 4, 7, 3, 3]");
}

TEST(Scatter, ExtremeIndicesPointOutside) {
  Context context;
  const ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  Tensor input = tensorOf(ElementType::f32, {3}, {1, 2, 3}),
         updates = tensorOf(ElementType::f32, {2, 2}, {1, 1, 1, 1});
  Tensor indices = *Tensor::allocate(ElementType::i64, *Shape::create({2, 1}), context);
  indices.set(0, Scalar::ofSigned(std::numeric_limits<int64_t>::max()));
  indices.set(1, Scalar::ofSigned(std::numeric_limits<int64_t>::min()));
  const ScatterDimensions dims{{1}, {}, {}, {}, {0}, 1};
  EXPECT_EQ((*scatter({&input, 1}, indices, {&updates, 1}, dims, sum, context))[0].toString(),
            "[1, 2, 3]");
}

TEST(Scatter, SeveralInputsTogether) {
  ScalarFunction::Builder builder(
      {ElementType::f32, ElementType::i32, ElementType::f32, ElementType::i32});
  auto add = builder.append(ScalarOp::add, ElementType::f32, {0, 2});
  auto most = builder.append(ScalarOp::maximum, ElementType::i32, {1, 3});
  builder.addResult(*add, ElementType::f32);
  builder.addResult(*most, ElementType::i32);
  const ScalarFunction body = std::move(builder).finish();
  Context context;
  const std::vector<Tensor> inputs = {tensorOf(ElementType::f32, {2}, {1, 2}),
                                      tensorOf(ElementType::i32, {2}, {5, 5})};
  const std::vector<Tensor> updates = {tensorOf(ElementType::f32, {2}, {10, 20}),
                                       tensorOf(ElementType::i32, {2}, {4, 6})};
  Tensor indices = tensorOf(ElementType::i32, {2}, {1, 1});
  std::vector<Tensor> results =
      *scatter(inputs, indices, updates, {{}, {0}, {}, {}, {0}, 1}, body, context);
  EXPECT_EQ(results[0].toString(), "[1, 32]");
  EXPECT_EQ(results[1].toString(), "[5, 6]");
}

TEST(Scatter, WhatDoesNotFitIsRefused) {
  Context context;
  const ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  Tensor input = wholeNumbers(ElementType::f32, {5, 3}, 1),
         indices = wholeNumbers(ElementType::i32, {4, 1}, 1);
  auto failure = [&](const std::vector<int64_t> &updates, const ScatterDimensions &dims) {
    Tensor update = wholeNumbers(ElementType::f32, updates, 1);
    Status status = scatter({&input, 1}, indices, {&update, 1}, dims, sum, context).takeStatus();
    EXPECT_EQ(status.error(), Error::interpretShape);
    return status.message();
  };
  EXPECT_THAT(failure({4, 4}, {{1}, {0}, {}, {}, {0}, 1}),
              HasSubstr("size 4 exceeds the size of input dimension 1, which is 3"));
  EXPECT_THAT(failure({5, 3}, {{1}, {0}, {}, {}, {0}, 1}),
              HasSubstr("each of the [4] index vectors, got [5]"));
  EXPECT_THAT(failure({4, 3}, {{1}, {}, {}, {}, {0}, 1}),
              HasSubstr("each of the 2 window dimensions, got 1"));
  const ScalarFunction other = ScalarFunction::single(ScalarOp::compareEq, ElementType::f32);
  Status status =
      scatter({&input, 1}, indices, {&input, 1}, {{1}, {0}, {}, {}, {0}, 1}, other, context)
          .takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("must be i1, the type of its result"));
}
