#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Fft.h"

#include <algorithm>
#include <cmath>

namespace tilewright::runtime::cpu {

using interpret::FftKind;

static Context context;

/// The largest difference, relative to the root mean square of the expected values.
static double difference(const TestBuffer &got, const Tensor &expected) {
  double largest = 0, squares = 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    const Scalar a = got.at(i), b = expected.at(i);
    const bool isComplex = numerics::isComplex(got.type.element);
    largest = std::max(largest, std::hypot(a.r - b.r, isComplex ? a.im - b.im : 0));
    squares += b.r * b.r + (isComplex ? b.im * b.im : 0);
  }
  const double scale = std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, got.count())));
  return scale == 0 ? largest : largest / scale;
}

static void check(Random &random, FftKind kind, bool isWide, const Dims &batch,
                  const Dims &lengths) {
  Dims dims = batch;
  dims.insert(dims.end(), lengths.begin(), lengths.end());
  if (kind == FftKind::irfft && lengths.back() > 0)
    dims.back() = lengths.back() / 2 + 1;
  const ElementType real = isWide ? ElementType::f64 : ElementType::f32;
  const ElementType complex = isWide ? ElementType::c128 : ElementType::c64;
  const auto type = static_cast<FftType>(kind); // the enumerators are the same
  TestCall call(FftCall{.fftType = type, .fftLength = lengths});
  call.operand(random.buffer(kind == FftKind::rfft ? real : complex, dims, -1000, 1000));
  auto expected = interpret::fft(tensorOf(call.operands[0]), kind, lengths, context);
  ASSERT_TRUE(expected.isOk()) << std::move(expected).takeStatus().message();
  call.result(typeOf(*expected));
  const Status status = call.run();
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_FALSE(call.results[0].overran());
  EXPECT_LT(difference(call.results[0], *expected), isWide ? 3e-15 : 2e-6)
      << nameOf(type) << listed(batch) << listed(lengths);
}

TEST(FftDifferential, EveryLength) {
  Random random(51);
  for (int64_t length = 0; length <= 70; ++length)
    for (int kind = 0; kind < 4; ++kind)
      check(random, static_cast<FftKind>(kind), length % 2 == 0, {3}, {length});
}

TEST(FftDifferential, LargeAndPrimeLengths) {
  Random random(52);
  for (int64_t length : {1009, 4096, 3 * 1024, 5 * 7 * 11 * 13, 997 * 2, 10007})
    for (int kind = 0; kind < 4; ++kind)
      for (bool isWide : {false, true})
        check(random, static_cast<FftKind>(kind), isWide, {}, {length});
}

TEST(FftDifferential, ManySequencesAndDimensions) {
  Random random(53);
  for (int round = 0; round < 120; ++round) {
    const Dims batch = random.dims(random.number(0, 2), 0, 9);
    const Dims lengths = random.dims(random.number(1, 3), 1, 24);
    check(random, static_cast<FftKind>(round % 4), round % 3 == 0, batch, lengths);
  }
}

} // namespace tilewright::runtime::cpu
