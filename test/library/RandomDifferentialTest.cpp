#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/RandomBits.h"

#include <cmath>

namespace tilewright::runtime::cpu {

using interpret::RandomAlgorithm;

static Context context;

TEST(RandomDifferential, Bits) {
  Random random(41);
  for (int round = 0; round < 600; ++round) {
    ElementType type = random.type();
    while (numerics::isComplex(type) || type == ElementType::pred)
      type = random.type();
    const int64_t rank = random.number(0, 3);
    const Dims dims = random.dims(rank, 0, rank == 1 ? 200 : 9);
    const auto algorithm = static_cast<RandomAlgorithm>(random.number(0, 2));
    const int64_t words = algorithm == RandomAlgorithm::threeFry ? 2 : random.number(2, 3);
    TestBuffer state({ElementType::ui64, {words}});
    for (int64_t i = 0; i < words; ++i)
      state.as<uint64_t>()[i] =
          static_cast<uint64_t>(random.number(0, 1 << 20)) * 0x9e3779b97f4a7c15u;
    // Counters near the overflow of the lower half and of the whole.
    if (round % 3 == 0)
      state.as<uint64_t>()[1] = round % 2 == 0 ? 0xfffffffffffffff9u : 0x12fffffff8u;
    auto expected =
        interpret::randomBits(algorithm, tensorOf(state), type, *Shape::create(dims), context);
    ASSERT_TRUE(expected.isOk());
    const auto same = static_cast<RngAlgorithm>(algorithm); // the enumerators are the same
    TestCall call(RngBitGeneratorCall{.rngAlgorithm = same});
    call.operand(std::move(state));
    expectSame(call, {(*expected).state, (*expected).bits},
               concat(nameOf(same), " ", numerics::spelling(type), listed(dims)));
  }
}

TEST(RandomDifferential, ManyBitsInParallel) {
  for (RngAlgorithm algorithm : {RngAlgorithm::threeFry, RngAlgorithm::philox})
    for (ElementType type : {ElementType::ui32, ElementType::ui64, ElementType::ui16}) {
      TestCall call(RngBitGeneratorCall{.rngAlgorithm = algorithm});
      call.operand(bufferOf(ElementType::ui64, {2}, {77, 5}));
      auto expected =
          interpret::randomBits(static_cast<RandomAlgorithm>(algorithm), tensorOf(call.operands[0]),
                                type, *Shape::create({333, 1001}), context);
      ASSERT_TRUE(expected.isOk());
      expectSame(call, {(*expected).state, (*expected).bits}, std::string(nameOf(algorithm)), 3);
    }
}

TEST(RandomDifferential, NumbersLieInTheirInterval) {
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::i32, ElementType::ui8}) {
    TestCall call(RngCall{.rngDistribution = RngDistribution::uniform});
    call.operand(bufferOf(type, {}, {3})).operand(bufferOf(type, {}, {7}));
    call.operand(bufferOf(ElementType::i64, {1}, {5000})).result({type, {5000}});
    ASSERT_TRUE(call.run().isOk());
    double sum = 0;
    for (double value : call.results[0].reals()) {
      ASSERT_GE(value, 3);
      ASSERT_LT(value, 7);
      sum += value;
    }
    EXPECT_NEAR(sum / 5000, numerics::isReal(type) ? 5 : 4.5, 0.1);
  }
  TestCall call(RngCall{.rngDistribution = RngDistribution::normal});
  call.operand(bufferOf(ElementType::f64, {}, {1})).operand(bufferOf(ElementType::f64, {}, {2}));
  call.operand(bufferOf(ElementType::i64, {1}, {20000})).result({ElementType::f64, {20000}});
  ASSERT_TRUE(call.run().isOk());
  double sum = 0, squares = 0;
  for (double value : call.results[0].reals())
    sum += value, squares += (value - 1) * (value - 1);
  EXPECT_NEAR(sum / 20000, 1, 0.1);
  EXPECT_NEAR(std::sqrt(squares / 20000), 2, 0.1);
}

} // namespace tilewright::runtime::cpu
