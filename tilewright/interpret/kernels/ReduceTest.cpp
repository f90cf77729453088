#include "tilewright/interpret/kernels/Reduce.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <numeric>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static Tensor reduceOne(ScalarOp op, const Tensor &input, const Tensor &init, Dims dimensions) {
  Context context;
  const ScalarFunction body = ScalarFunction::single(op, input.type());
  Result<std::vector<Tensor>> results = reduce({&input, 1}, {&init, 1}, dimensions, body, context);
  EXPECT_TRUE(results.isOk());
  return (*results)[0];
}

TEST(Reduce, SumsAlongAnyDimensions) {
  Tensor input = tensorOf(ElementType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor ten = tensorOf(ElementType::i32, {}, {10});
  EXPECT_EQ(reduceOne(ScalarOp::add, input, ten, {0}).toString(), "[15, 17, 19]");
  EXPECT_EQ(reduceOne(ScalarOp::add, input, ten, {1}).toString(), "[16, 25]");
  EXPECT_EQ(reduceOne(ScalarOp::add, input, ten, {1, 0}).toString(), "31");
  EXPECT_EQ(reduceOne(ScalarOp::add, input, ten, {}).toString(), "[[11, 12, 13], [14, 15, 16]]");
}

TEST(Reduce, NothingReducesToTheInitValue) {
  Tensor empty = tensorOf(ElementType::f32, {0, 2}, {});
  EXPECT_EQ(
      reduceOne(ScalarOp::maximum, empty, tensorOf(ElementType::f32, {}, {-7}), {0}).toString(),
      "[-7, -7]");
}

TEST(Reduce, LeavesKeepTheirOrder) {
  // An associative body that is not commutative: the later of two nonzero elements. Any tree with
  // its leaves in order gives the last one.
  const ScalarFunction last({ElementType::i32, ElementType::i32}, {ElementType::i32},
                            [](const Scalar *arguments, Scalar *results) {
                              *results = arguments[1].i != 0 ? arguments[1] : arguments[0];
                              return Status();
                            });
  Context context;
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 100, 255, 256, 257, 1000}) {
    std::vector<double> values(static_cast<size_t>(n));
    std::iota(values.begin(), values.end(), 1);
    Tensor input = *Tensor::allocate(ElementType::i32, *Shape::create({n}), context);
    for (int64_t i = 0; i < n; ++i)
      input.set(i, Scalar::ofSigned(i + 1));
    Tensor zero = tensorOf(ElementType::i32, {}, {0});
    std::vector<Tensor> results = *reduce({&input, 1}, {&zero, 1}, Dims{0}, last, context);
    EXPECT_EQ(results[0].at(0).i, n);
  }
}

TEST(Reduce, LongSumsInF32KeepTheirDigits) {
  // Sequential summation would stop at 2^24.
  Context context;
  Tensor ones =
      *Tensor::filled(ElementType::f32, *Shape::create({1 << 25}), Scalar::ofReal(1), context);
  Tensor zero = tensorOf(ElementType::f32, {}, {0});
  EXPECT_EQ(reduceOne(ScalarOp::add, ones, zero, {0}).at(0).r, 1 << 25);
}

TEST(Reduce, SeveralInputsTogether) {
  Context context;
  std::vector<Tensor> inputs = {tensorOf(ElementType::f32, {2, 3}, {1, 5, 5, 9, 2, 9}),
                                tensorOf(ElementType::i32, {2, 3}, {0, 1, 2, 0, 1, 2})};
  std::vector<Tensor> results = *reduce(inputs, argmaxInits(), Dims{1}, argmax(), context);
  EXPECT_EQ(results[0].toString(), "[5, 9]");
  EXPECT_EQ(results[1].toString(), "[1, 0]");
}

TEST(Reduce, TheBodyDecidesThePrecision) {
  // A body in f32 over inputs of bf16: 256 + 1 survives.
  Context context;
  Tensor input = tensorOf(ElementType::bf16, {2}, {256, 1}),
         zero = tensorOf(ElementType::bf16, {}, {0});
  std::vector<Tensor> results =
      *reduce({&input, 1}, {&zero, 1}, Dims{0},
              ScalarFunction::single(ScalarOp::add, ElementType::f32), context);
  EXPECT_EQ(results[0].type(), ElementType::f32);
  EXPECT_EQ(results[0].at(0).r, 257);
  EXPECT_EQ(reduceOne(ScalarOp::add, input, zero, {0}).at(0).r, 256);
}

TEST(Reduce, FailuresOfTheBodyAndOperandsThatDoNotFit) {
  Context context;
  Tensor input = tensorOf(ElementType::f32, {2}, {1, 2}),
         zero = tensorOf(ElementType::f32, {}, {0});
  const ScalarFunction sum = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  const ScalarFunction failing(
      {ElementType::f32, ElementType::f32}, {ElementType::f32},
      [](const Scalar *, Scalar *) { return Status(Code::internal, "body"); });
  EXPECT_EQ(reduce({&input, 1}, {&zero, 1}, Dims{0}, failing, context).takeStatus().message(),
            "body");

  Status status = reduce({&input, 1}, {&zero, 1}, Dims{1}, sum, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("dimensions must be in [0, 1)"));
  status = reduce({&input, 1}, {&input, 1}, Dims{0}, sum, context).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("init values must be scalars, got 2xf32"));
  const std::vector<Tensor> different = {input, zero}, inits = {zero, zero};
  status = reduce(different, inits, Dims{0}, sum, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("must have 4 arguments and 2 results, got 2 and 1"));
}
