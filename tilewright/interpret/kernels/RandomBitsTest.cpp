#include "tilewright/interpret/kernels/RandomBits.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <cmath>
#include <set>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static Tensor stateOf(const std::vector<uint64_t> &words) {
  Context context;
  Tensor state = *Tensor::allocate(ElementType::ui64,
                                   *Shape::create({static_cast<int64_t>(words.size())}), context);
  for (size_t i = 0; i < words.size(); ++i)
    state.set(static_cast<int64_t>(i), Scalar::ofUnsigned(words[i]));
  return state;
}

static uint64_t fnv1a(const std::byte *data, int64_t size) {
  uint64_t value = 0xcbf29ce484222325;
  for (int64_t i = 0; i < size; ++i)
    value = (value ^ static_cast<uint64_t>(data[i])) * 0x100000001b3;
  return value;
}

/// The known-answer tests that the authors of the algorithms publish.
TEST(RandomBits, CiphersGiveTheirKnownAnswers) {
  EXPECT_EQ(threefry2x32({0, 0}, {0, 0}), (std::array<uint32_t, 2>{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry2x32({~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 2>{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

/// A data table instead of calls: 528 calls with three vectors each took a minute to compile with
/// ASan.
struct Answer {
  RandomAlgorithm algorithm;
  std::initializer_list<uint64_t> state;
  std::initializer_list<int64_t> shape;
  ElementType type;
  uint64_t hash;
  std::initializer_list<uint64_t> next;
};
#define TILEWRIGHT_LIST(...) {__VA_ARGS__}
#define TILEWRIGHT_RANDOM_BITS(algorithm, state, shape, type, hash, next)                          \
  {RandomAlgorithm::algorithm,                                                                     \
   TILEWRIGHT_LIST state,                                                                          \
   TILEWRIGHT_LIST shape,                                                                          \
   ElementType::type,                                                                              \
   hash,                                                                                           \
   TILEWRIGHT_LIST next},
static constexpr Answer jaxlibsAnswers[] = {
#include "tilewright/interpret/kernels/testing/RandomBitsTable.def"
};

TEST(RandomBits, EveryBitIsJaxlibs) {
  EXPECT_EQ(std::size(jaxlibsAnswers), 528u);
  for (const Answer &answer : jaxlibsAnswers) {
    Context context;
    RandomBits result = *randomBits(answer.algorithm, stateOf(answer.state), answer.type,
                                    *Shape::create(answer.shape), context);
    EXPECT_EQ(fnv1a(result.bits.data(), result.bits.byteCount()), answer.hash)
        << result.bits.typeString() << " by algorithm " << static_cast<int>(answer.algorithm);
    int64_t i = 0;
    for (uint64_t word : answer.next)
      EXPECT_EQ(result.state.at(i++).u, word) << result.bits.typeString();
  }
}

TEST(RandomBits, SubByteElementsAreExtendedToTheirByte) {
  Context context;
  RandomBits result = *randomBits(RandomAlgorithm::philox, stateOf({1, 2}), ElementType::ui4,
                                  *Shape::create({1000}), context);
  std::set<uint64_t> seen;
  for (int64_t i = 0; i < 1000; ++i)
    seen.insert(static_cast<uint64_t>(result.bits.data()[i]));
  EXPECT_EQ(seen.size(), 16u);
  EXPECT_EQ(*seen.rbegin(), 15u);
  result = *randomBits(RandomAlgorithm::philox, stateOf({1, 2}), ElementType::i4,
                       *Shape::create({1000}), context);
  for (int64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(static_cast<int8_t>(result.bits.data()[i]), result.bits.at(i).i);
}

TEST(RandomBits, StatesOfOtherSizesAreRefused) {
  Context context;
  auto status = [&](RandomAlgorithm algorithm, const Tensor &state, ElementType type) {
    return randomBits(algorithm, state, type, Shape(), context).takeStatus();
  };
  Status wrong = status(RandomAlgorithm::threeFry, stateOf({1, 2, 3}), ElementType::ui32);
  EXPECT_EQ(wrong.error(), Error::randomState);
  EXPECT_THAT(wrong.message(), HasSubstr("the state of THREE_FRY must be 2xui64, got 3xui64"));
  EXPECT_THAT(status(RandomAlgorithm::philox, stateOf({1}), ElementType::ui32).message(),
              HasSubstr("PHILOX must be 2xui64 or 3xui64, got 1xui64"));
  EXPECT_EQ(status(RandomAlgorithm::byDefault, tensorOf(ElementType::ui32, {4}, {1, 2, 3, 4}),
                   ElementType::ui32)
                .error(),
            Error::randomState);
  EXPECT_EQ(status(RandomAlgorithm::philox, stateOf({1, 2}), ElementType::c64).error(),
            Error::operandType);
}

TEST(Rng, UniformNumbersFillTheirIntervalAndRepeatWithTheSeed) {
  Context context;
  RandomStream stream{42};
  const Shape shape = *Shape::create({100000});
  Tensor numbers = *randomUniform(tensorOf(ElementType::f32, {}, {-1}),
                                  tensorOf(ElementType::f32, {}, {3}), shape, stream, context);
  double sum = 0, squares = 0, lowest = 9, highest = -9;
  for (double value : valuesOf(numbers)) {
    sum += value;
    squares += (value - 1) * (value - 1);
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  EXPECT_NEAR(sum / 1e5, 1, 0.02);
  EXPECT_NEAR(squares / 1e5, 16.0 / 12, 0.02);
  EXPECT_GE(lowest, -1);
  EXPECT_LT(lowest, -0.99);
  EXPECT_LT(highest, 3);
  EXPECT_GT(highest, 2.99);
  RandomStream again{42}, other{43};
  Tensor same = *randomUniform(tensorOf(ElementType::f32, {}, {-1}),
                               tensorOf(ElementType::f32, {}, {3}), shape, again, context);
  EXPECT_EQ(valuesOf(same), valuesOf(numbers));
  Tensor different = *randomUniform(tensorOf(ElementType::f32, {}, {-1}),
                                    tensorOf(ElementType::f32, {}, {3}), shape, other, context);
  EXPECT_NE(valuesOf(different), valuesOf(numbers));
  Tensor next = *randomUniform(tensorOf(ElementType::f32, {}, {-1}),
                               tensorOf(ElementType::f32, {}, {3}), shape, again, context);
  EXPECT_NE(valuesOf(next), valuesOf(numbers));
}

TEST(Rng, UniformIntegersNeverReachTheEnd) {
  Context context;
  RandomStream stream;
  for (ElementType type :
       {ElementType::i32, ElementType::ui8, ElementType::i4, ElementType::bf16}) {
    Tensor numbers = *randomUniform(tensorOf(type, {}, {1}), tensorOf(type, {}, {4}),
                                    *Shape::create({300}), stream, context);
    std::set<double> seen;
    for (double value : valuesOf(numbers))
      seen.insert(std::floor(value));
    EXPECT_EQ(seen, (std::set<double>{1, 2, 3})) << spelling(type);
  }
  Tensor flags =
      *randomUniform(tensorOf(ElementType::pred, {}, {0}), tensorOf(ElementType::pred, {}, {1}),
                     *Shape::create({10}), stream, context);
  EXPECT_EQ(valuesOf(flags), std::vector<double>(10, 0));
  Tensor empty =
      *randomUniform(tensorOf(ElementType::i32, {}, {5}), tensorOf(ElementType::i32, {}, {5}),
                     *Shape::create({2}), stream, context);
  EXPECT_EQ(empty.toString(), "[5, 5]");
}

TEST(Rng, NormalNumbersHaveTheirMeanAndDeviation) {
  Context context;
  RandomStream stream{7};
  Tensor numbers =
      *randomNormal(tensorOf(ElementType::f64, {}, {5}), tensorOf(ElementType::f64, {}, {2}),
                    *Shape::create({100000}), stream, context);
  double sum = 0, squares = 0, fourth = 0;
  for (double value : valuesOf(numbers)) {
    const double z = (value - 5) / 2;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
  EXPECT_NEAR(fourth / 1e5, 3, 0.2);
}

TEST(Rng, WhatHasNoDistributionIsRefused) {
  Context context;
  RandomStream stream;
  Tensor f32 = tensorOf(ElementType::f32, {}, {0}), i32 = tensorOf(ElementType::i32, {}, {0});
  EXPECT_EQ(randomNormal(i32, i32, Shape(), stream, context).takeStatus().error(),
            Error::operandType);
  Status status = randomUniform(f32, i32, Shape(), stream, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("two scalars of the same type, got f32 and i32"));
}
