// dot_general of block-scaled operands against exact products.
#include "test/library/Differential.h"

#include "tilewright/numerics/Convert.h"

#include <cmath>
#include <limits>

namespace tilewright::runtime::cpu {
namespace {

using enum ElementType;

struct Format {
  ElementType lhs, rhs, scale;
  int64_t block;
};
// ui8 is two f4E2M1FN.
constexpr Format formats[] = {
    {f8E4M3FN, f8E4M3FN, f8E8M0FNU, 32}, {f8E4M3FN, f8E5M2, f8E8M0FNU, 32},
    {f8E5M2, f8E4M3FN, f8E8M0FNU, 32},   {ui8, ui8, f8E8M0FNU, 32},
    {f8E4M3FN, ui8, f8E8M0FNU, 32},      {ui8, ui8, f8E4M3FN, 16},
    {f4E2M1FN, ui8, f8E4M3FN, 16},       {f6E2M3FN, f6E3M2FN, f8E8M0FNU, 32}};

struct Size {
  int64_t batch, rows, columns, depth;
};
// Edges of blocks, panels and vectors; few rows, few columns; a last block that is shorter.
constexpr Size sizes[] = {
    {1, 1, 1, 32},     {1, 1, 37, 96},   {1, 29, 1, 160},   {1, 3, 5, 30},
    {2, 17, 33, 64},   {1, 64, 64, 128}, {3, 7, 130, 98},   {1, 129, 65, 224},
    {1, 100, 31, 288}, {5, 2, 2, 64},    {1, 255, 19, 352}, {2, 48, 80, 1056},
    {1, 33, 65, 2080}, {1, 0, 4, 32},    {0, 4, 4, 32},     {1, 300, 280, 40}};

double valueOf(ElementType type, std::byte bits) {
  double value = 0;
  numerics::decode(type, &bits, &value, 1);
  return value;
}

/// Random finite elements of [batch, lines, depth].
TestBuffer elementsOf(Random &random, ElementType type, Dims dims) {
  const bool isPacked = type == ui8;
  dims.back() /= isPacked ? 2 : 1;
  TestBuffer buffer({type, dims});
  for (int64_t i = 0; i < buffer.count(); ++i) {
    std::byte bits{};
    do
      bits = static_cast<std::byte>(random.number(0, (1 << numerics::bitWidth(type)) - 1));
    while (!isPacked && !std::isfinite(valueOf(type, bits)));
    buffer.as<std::byte>()[i] = bits;
  }
  return buffer;
}

/// Scales of which no product is subnormal or overflows, also after they are doubled.
TestBuffer scalesOf(Random &random, const Format &format, Dims dims) {
  dims.back() = (dims.back() + format.block - 1) / format.block;
  TestBuffer buffer({format.scale, dims});
  for (int64_t i = 0; i < buffer.count(); ++i)
    buffer.as<uint8_t>()[i] = static_cast<uint8_t>(
        format.scale == f8E8M0FNU ? random.number(115, 139) : random.number(1 << 3, (14 << 3) - 1));
  return buffer;
}

struct Operands {
  Size size;
  Format format;
  TestBuffer lhs, rhs, lhsScales, rhsScales;

  Operands(Random &random, const Size &size, const Format &format)
      : size(size), format(format),
        lhs(elementsOf(random, format.lhs, {size.batch, size.rows, size.depth})),
        rhs(elementsOf(random, format.rhs, {size.batch, size.columns, size.depth})),
        lhsScales(scalesOf(random, format, {size.batch, size.rows, size.depth})),
        rhsScales(scalesOf(random, format, {size.batch, size.columns, size.depth})) {}

  /// Runs the product and returns its results.
  std::vector<float> run(unsigned threads) const {
    TestCall call(DotGeneralCall{.lhsBatchingDimensions = {0},
                                 .rhsBatchingDimensions = {0},
                                 .lhsContractingDimensions = {2},
                                 .rhsContractingDimensions = {2},
                                 .block = format.block});
    for (const TestBuffer *each : {&lhs, &rhs, &lhsScales, &rhsScales}) {
      TestBuffer copy(each->type);
      if (each->size() > 0)
        std::memcpy(copy.data(), each->data(), each->size());
      call.operand(std::move(copy));
    }
    call.result({f32, {size.batch, size.rows, size.columns}});
    const Status status = call.run(threads);
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_FALSE(call.results[0].overran());
    const float *values = call.results[0].as<float>();
    return std::vector<float>(values, values + call.results[0].count());
  }

  /// Each element times its scale.
  std::vector<double> factors(const TestBuffer &elements, const TestBuffer &scales) const {
    const bool isPacked = elements.type.element == ui8;
    const int64_t blocks = scales.type.dims.back();
    std::vector<double> values(static_cast<size_t>(elements.count() * (isPacked ? 2 : 1)));
    for (int64_t at = 0; at < static_cast<int64_t>(values.size()); ++at) {
      std::byte bits = elements.as<std::byte>()[isPacked ? at / 2 : at];
      if (isPacked)
        bits = (bits >> static_cast<int>(at % 2 * 4)) & std::byte(0xf);
      const int64_t scale = at / size.depth * blocks + at % size.depth / format.block;
      values[static_cast<size_t>(at)] = valueOf(isPacked ? f4E2M1FN : elements.type.element, bits) *
                                        valueOf(format.scale, scales.as<std::byte>()[scale]);
    }
    return values;
  }

  /// The first result that is further from the exact one than the rounding of f32 sums.
  std::string check(const std::vector<float> &results) const {
    const double epsilon = std::ldexp(1.0, -24) * double(size.depth + 1);
    const std::vector<double> left = factors(lhs, lhsScales), right = factors(rhs, rhsScales);
    for (int64_t b = 0; b < size.batch; ++b)
      for (int64_t m = 0; m < size.rows; ++m)
        for (int64_t n = 0; n < size.columns; ++n) {
          const double *row = left.data() + (b * size.rows + m) * size.depth;
          const double *column = right.data() + (b * size.columns + n) * size.depth;
          double sum = 0, magnitude = 0;
          for (int64_t k = 0; k < size.depth; ++k) {
            const double term = row[k] * column[k];
            sum += term;
            magnitude += std::fabs(term);
          }
          const double value = double(results[size_t((b * size.rows + m) * size.columns + n)]);
          if (!(std::fabs(value - sum) <= epsilon * magnitude))
            return concat("[", b, ", ", m, ", ", n, "] is ", value, ", not ", sum);
        }
    return "";
  }
};

TEST(ScaledDot, IsExactUpToTheRoundingOfSums) {
  Random random(21);
  for (const Format &format : formats)
    for (const Size &size : sizes) {
      const Operands operands(random, size, format);
      EXPECT_EQ(operands.check(operands.run(2)), "")
          << numerics::spelling(format.lhs) << " x " << numerics::spelling(format.rhs) << ", "
          << size.batch << "x" << size.rows << "x" << size.depth << "x" << size.columns;
    }
}

TEST(ScaledDot, GivesTwiceTheResultForTwiceTheScalesOnAnyNumberOfThreads) {
  Random random(22);
  for (const Format &format : formats)
    for (const Size &size : {sizes[4], sizes[7], sizes[10]}) {
      Operands operands(random, size, format);
      const std::vector<float> once = operands.run(1);
      EXPECT_EQ(operands.run(2), once);
      for (int64_t i = 0; i < operands.rhsScales.count(); ++i)
        operands.rhsScales.as<uint8_t>()[i] += format.scale == f8E8M0FNU ? 1 : 8;
      std::vector<float> twice = operands.run(2);
      for (float &value : twice)
        value /= 2;
      EXPECT_EQ(twice, once);
    }
}

TEST(ScaledDot, MakesOnlyTheRowOfANaNScaleNaN) {
  Random random(23);
  for (const Format &format : formats) {
    Operands operands(random, {1, 19, 40, 96}, format);
    operands.lhsScales.as<uint8_t>()[7 * operands.lhsScales.type.dims.back() + 1] =
        format.scale == f8E8M0FNU ? 0xff : 0x7f;
    const std::vector<float> results = operands.run(2);
    for (int64_t i = 0; i < 19 * 40; ++i)
      EXPECT_EQ(std::isnan(results[size_t(i)]), i / 40 == 7) << i;
  }
}

TEST(ScaledDot, RefusesWhatDoesNotFit) {
  auto failure = [](DotGeneralCall dot, std::vector<TensorType> operands, TensorType result) {
    TestCall call(std::move(dot));
    for (const TensorType &operand : operands)
      call.operand(TestBuffer(operand));
    call.result(result);
    const Status status = call.prepare();
    EXPECT_EQ(status.error(), Error::libraryCall);
    return status.message();
  };
  const DotGeneralCall dot{
      .lhsContractingDimensions = {1}, .rhsContractingDimensions = {1}, .block = 32};
  const TensorType side = {f8E4M3FN, {4, 64}}, scales = {f8E8M0FNU, {4, 2}}, result = {f32, {4, 4}};
  EXPECT_EQ(failure(dot, {side, side, scales}, result),
            "dot_general: with a block must have 4 operands and 1 result, or with an epilogue at "
            "least 4 operands, 1 result and 1 body, got 3 operands and 1 results");
  EXPECT_EQ(failure(dot, {side, side, scales, {f8E8M0FNU, {4, 3}}}, result),
            "dot_general: scales of rhs 4x64 must have 2 for each row, one for 32 elements, got "
            "4x3");
  EXPECT_EQ(failure(dot, {side, {f8E3M4, {4, 64}}, scales, {f8E4M3FN, {4, 2}}}, result),
            "dot_general: elements of f8E3M4 times scales of f8E4M3FN must be numbers of bf16");
  EXPECT_EQ(failure(dot, {side, {f8E4M3FN, {4, 32}}, scales, {f8E8M0FNU, {4, 1}}}, result),
            "dot_general: batching and contracted dimensions of lhs and rhs must have equal sizes, "
            "got contracted sizes 64 and 32");
  EXPECT_EQ(failure(dot, {side, side, scales, scales}, {i32, {4, 4}}),
            "dot_general: scaled products cannot be accumulated in i32");
  DotGeneralCall first = dot;
  first.rhsContractingDimensions = {0};
  EXPECT_EQ(failure(first, {side, side, scales, scales}, result),
            "dot_general: scaled rhs 4x64 must have its batching dimensions first, in order, and "
            "its one contracting dimension last");
  DotGeneralCall negative = dot;
  negative.block = -1;
  EXPECT_EQ(failure(negative, {side, side, scales, scales}, result),
            "dot_general: a block must have at least 1 element, got -1");
  failure(dot, {side, side, scales, scales}, {f32, {4, 5}});
}

} // namespace
} // namespace tilewright::runtime::cpu
