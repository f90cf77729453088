// Score functions, compiled for every chip that this machine can run, compared with f64.
#include "tilewright/target/cpu/emit/AttentionEmitter.h"

#include "tilewright/numerics/Convert.h"
#include "tilewright/target/cpu/testing/Kernels.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace tilewright;
using namespace tilewright::cpu;
using numerics::ElementType;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t rows = 3, maxColumns = 40, keys = 100, rowBegin = 2, columnBegin = 5;

// The ABI of runtime/cpu/attention/Attention.h.
using Update = void (*)(void *const *, int64_t, int64_t, int64_t, int64_t, float *, int64_t, void *,
                        int64_t, float *, float *, float *);
using IsMasked = bool (*)(void *const *, int64_t, int64_t, int64_t, int64_t);

/// A scaled product plus a bias for each query and key, and one for each query, where a key is not
/// hidden and is at most 20 behind the query.
std::string moduleOf(std::string_view weightType) {
  const std::string visible = R"(
      %behind = arith.constant 20 : i32
      %end = arith.addi %query, %behind : i32
      %near = arith.cmpi sle, %key, %end : i32
      %visible = arith.andi %near, %seen : i1
)";
  return R"(
    func.func private @score(%product: f32, %query: i32, %key: i32, %bias: bf16, %seen: i1, %ofRow: f32) -> f32
        attributes {exec.score = array<i64: 100, 1, 0, 1, 1, 0>, exec.weight_type = )" +
         std::string(weightType) + "} {" + visible + R"(
      %scale = arith.constant 0.25 : f32
      %masked = arith.constant -1.0e+30 : f32
      %0 = arith.mulf %product, %scale : f32
      %1 = arith.extf %bias : bf16 to f32
      %2 = arith.addf %0, %1 : f32
      %3 = arith.addf %2, %ofRow : f32
      %4 = arith.select %visible, %3, %masked : f32
      return %4 : f32
    }
    func.func private @visible(%query: i32, %key: i32, %bias: bf16, %seen: i1, %ofRow: f32) -> i1
        attributes {exec.score = array<i64: 100, 1, 0, 1, 1, 0>} {)" +
         visible + "return %visible : i1 }";
}

/// The inputs of the score function, and the same in f64.
struct Inputs {
  std::vector<uint16_t> bias; // bf16
  std::vector<uint8_t> seen;
  std::vector<float> ofRow;

  Inputs() : bias((rowBegin + rows) * keys), seen(keys, 1), ofRow(rowBegin + rows) {
    std::mt19937 random(3);
    for (uint16_t &one : bias)
      one = static_cast<uint16_t>((random() % 2 << 15) | (0x3e00 + random() % 0x180));
    for (float &one : ofRow)
      one = static_cast<float>(random() % 1000) / 250 - 2;
    for (size_t i = 0; i < seen.size(); i += 3)
      seen[i] = 0;
  }
  std::vector<void *> buffers() { return {bias.data(), seen.data(), ofRow.data()}; }

  bool isVisible(int64_t row, int64_t column) const {
    return column <= row + 20 && seen[static_cast<size_t>(column)];
  }
  double score(double product, int64_t row, int64_t column) const {
    if (!isVisible(row, column))
      return -1e30;
    const uint32_t bits = uint32_t(bias[static_cast<size_t>(row * keys + column)]) << 16;
    return product * 0.25 + std::bit_cast<float>(bits) + ofRow[static_cast<size_t>(row)];
  }
};

class ScoreFunctions : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Chips, ScoreFunctions, testing::ValuesIn(runnableChips()),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// One block: products in, weights and the state of each row out.
struct Block {
  static constexpr int64_t tileStride = maxColumns + 3, weightsStride = maxColumns + 5;
  ElementType weightType;
  std::vector<float> tile = std::vector<float>(rows * tileStride, 777.0f);
  std::vector<std::byte> weights;
  std::vector<float> maximum = std::vector<float>(rows, static_cast<float>(-infinity)),
                     sum = std::vector<float>(rows, 0.0f), factor = std::vector<float>(rows);

  explicit Block(ElementType type)
      : weightType(type),
        weights(rows * weightsStride * numerics::storageBytes(type), std::byte(0x5a)) {}

  void fill(int64_t columns, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 8);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        tile[static_cast<size_t>(r * tileStride + c)] = normal(random);
  }
  double weight(int64_t row, int64_t column) const {
    double value = 0;
    const size_t at = static_cast<size_t>(row * weightsStride + column);
    numerics::convert(weightType, weights.data() + at * numerics::storageBytes(weightType),
                      ElementType::f64, reinterpret_cast<std::byte *>(&value), 1);
    return value;
  }
  bool isUntouchedBehind(int64_t columns) const {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = columns; c < tileStride; ++c)
        if (tile[static_cast<size_t>(r * tileStride + c)] != 777.0f)
          return false;
      const size_t bytes = numerics::storageBytes(weightType);
      for (size_t at = static_cast<size_t>(r * weightsStride + columns) * bytes;
           at < static_cast<size_t>((r + 1) * weightsStride) * bytes; ++at)
        if (weights[at] != std::byte(0x5a))
          return false;
    }
    return true;
  }
};

/// The block after the update, in f64.
struct Expected {
  std::vector<std::vector<double>> weights;
  std::vector<double> maximum, sum, factor;

  Expected(const Block &before, const Inputs &inputs, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto row = static_cast<size_t>(r);
      std::vector<double> scores;
      double largest = before.maximum[row];
      for (int64_t c = 0; c < columns; ++c) {
        scores.push_back(inputs.score(before.tile[static_cast<size_t>(r * Block::tileStride + c)],
                                      rowBegin + r, columnBegin + c));
        largest = std::max(largest, scores.back());
      }
      factor.push_back(std::isinf(before.maximum[row]) ? 1
                                                       : std::exp(before.maximum[row] - largest));
      maximum.push_back(largest);
      sum.push_back(before.sum[row] * factor.back());
      for (double &score : scores)
        sum.back() += score = std::exp(score - largest);
      weights.push_back(std::move(scores));
    }
  }
};

TEST_P(ScoreFunctions, UpdateTheSoftmaxOfABlock) {
  for (auto [type, name, bound] :
       {std::tuple(ElementType::f32, "f32", 2e-6), std::tuple(ElementType::bf16, "bf16", 0x1p-8),
        std::tuple(ElementType::f16, "f16", 0x1p-11)}) {
    LoadedKernels kernels = LoadedKernels::compile(moduleOf(name), *chipNamed(GetParam()));
    const auto update = reinterpret_cast<Update>(kernels.symbol("score"));
    Inputs inputs;
    for (int64_t columns = 1; columns <= maxColumns; ++columns) {
      Block block(type);
      // The second block begins with the state of the first.
      for (unsigned seed : {1u, 2u}) {
        block.fill(columns, seed);
        const Expected expected(block, inputs, columns);
        update(inputs.buffers().data(), rowBegin, rowBegin + rows, columnBegin,
               columnBegin + columns, block.tile.data(), Block::tileStride, block.weights.data(),
               Block::weightsStride, block.maximum.data(), block.sum.data(), block.factor.data());
        for (size_t r = 0; r < rows; ++r) {
          EXPECT_NEAR(block.maximum[r], expected.maximum[r], 4e-6 * std::fabs(expected.maximum[r]));
          EXPECT_NEAR(block.factor[r], expected.factor[r], 4e-6);
          EXPECT_NEAR(block.sum[r], expected.sum[r], 4e-6 * expected.sum[r]);
          for (int64_t c = 0; c < columns; ++c)
            EXPECT_NEAR(block.weight(static_cast<int64_t>(r), c),
                        expected.weights[r][static_cast<size_t>(c)], bound + 4e-6)
                << columns << " columns of " << name << ", row " << r << ", column " << c;
        }
      }
      EXPECT_TRUE(block.isUntouchedBehind(columns)) << columns << " columns of " << name;
    }
  }
}

TEST_P(ScoreFunctions, NaNAndInfinityStayInTheirRow) {
  LoadedKernels kernels = LoadedKernels::compile(moduleOf("f32"), *chipNamed(GetParam()));
  const auto update = reinterpret_cast<Update>(kernels.symbol("score"));
  Inputs inputs;
  for (int64_t columns : {7, 16, 33}) {
    Block block(ElementType::f32);
    block.fill(columns, 1);
    // Columns 0 and 2 are visible: keys 5 and 7.
    block.tile[0] = std::numeric_limits<float>::quiet_NaN();
    block.tile[Block::tileStride + 2] = std::numeric_limits<float>::infinity();
    for (int64_t c = 0; c < columns; ++c)
      block.tile[static_cast<size_t>(2 * Block::tileStride + c)] = -static_cast<float>(infinity);
    std::fill(inputs.seen.begin(), inputs.seen.end(), 1);
    update(inputs.buffers().data(), rowBegin, rowBegin + rows, columnBegin, columnBegin + columns,
           block.tile.data(), Block::tileStride, block.weights.data(), Block::weightsStride,
           block.maximum.data(), block.sum.data(), block.factor.data());
    EXPECT_TRUE(std::isnan(block.sum[0]));
    EXPECT_TRUE(std::isinf(block.sum[1]) || std::isnan(block.sum[1]));
    if (columns < 20) { // beyond, masked scores are finite
      EXPECT_EQ(block.sum[2], 0);
      EXPECT_EQ(block.maximum[2], -infinity);
    }
    EXPECT_EQ(block.factor[2], 1);
  }
}

TEST_P(ScoreFunctions, FindMaskedBlocks) {
  LoadedKernels kernels = LoadedKernels::compile(moduleOf("f32"), *chipNamed(GetParam()));
  const auto isMasked = reinterpret_cast<IsMasked>(kernels.symbol("visible"));
  Inputs inputs;
  int64_t masked = 0;
  for (int64_t begin = 0; begin < 60; ++begin)
    for (int64_t columns : {1, 2, 3, 7, 8, 15, 16, 17, 40}) {
      bool expected = true;
      for (int64_t row = rowBegin; row < rowBegin + rows; ++row)
        for (int64_t column = begin; column < begin + columns; ++column)
          expected &= !inputs.isVisible(row, column);
      masked += expected;
      EXPECT_EQ(
          isMasked(inputs.buffers().data(), rowBegin, rowBegin + rows, begin, begin + columns),
          expected)
          << columns << " columns from " << begin;
    }
  EXPECT_GT(masked, 0);
}

/// Weights and gradients of a block, in the ABI of runtime/cpu/attention/AttentionBackward.h.
TEST_P(ScoreFunctions, ComputeWeightsAndGradientsOfABlock) {
  using Compute = void (*)(void *const *, int64_t, int64_t, int64_t, int64_t, const float *,
                           const float *, int64_t, const float *, void *, void *);
  for (auto [type, name, bound] :
       {std::tuple(ElementType::f32, "f32", 1e-6), std::tuple(ElementType::bf16, "bf16", 0x1p-8)}) {
    const std::string types = "[" + std::string(name) + ", " + name + "]";
    LoadedKernels kernels = LoadedKernels::compile(R"(
      func.func private @gradient(%product: f32, %cotangent: f32, %dot: f32, %query: i32, %key: i32, %sum: f32) -> (f32, f32)
          attributes {exec.score = array<i64: 1, 0>, exec.gradient_types = )" +
                                                       types + R"(} {
        %0 = arith.divf %product, %sum : f32
        %1 = arith.subf %cotangent, %dot : f32
        %2 = arith.mulf %0, %1 : f32
        %visible = arith.cmpi sle, %key, %query : i32
        %none = arith.constant 0.0 : f32
        %3 = arith.select %visible, %2, %none : f32
        return %0, %3 : f32, f32
      })",
                                                   *chipNamed(GetParam()));
    const auto compute = reinterpret_cast<Compute>(kernels.symbol("gradient"));
    std::vector<float> sum = {0, 0, 2, 4, 8}, dots = {0.5f, 1, 2};
    std::vector<void *> buffers = {sum.data()};
    for (int64_t columns = 1; columns <= maxColumns; ++columns) {
      Block products(type), cotangents(type);
      products.fill(columns, 1);
      cotangents.fill(columns, 2);
      const std::vector<float> x = products.tile, y = cotangents.tile;
      // Results in the memory of the products, if they have the same type.
      const bool isInPlace = type == ElementType::f32;
      std::vector<std::byte> weights(x.size() * 2), gradients(x.size() * 2);
      void *first = isInPlace ? static_cast<void *>(products.tile.data()) : weights.data();
      void *second = isInPlace ? static_cast<void *>(cotangents.tile.data()) : gradients.data();
      compute(buffers.data(), rowBegin, rowBegin + rows, columnBegin, columnBegin + columns,
              products.tile.data(), cotangents.tile.data(), Block::tileStride, dots.data(), first,
              second);
      auto numberAt = [&](const void *data, size_t at) {
        double value = 0;
        numerics::convert(type,
                          static_cast<const std::byte *>(data) + at * numerics::storageBytes(type),
                          ElementType::f64, reinterpret_cast<std::byte *>(&value), 1);
        return value;
      };
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const auto at = static_cast<size_t>(r * Block::tileStride + c);
          const double weight = x[at] / sum[static_cast<size_t>(rowBegin + r)];
          const double gradient =
              columnBegin + c <= rowBegin + r ? weight * (y[at] - dots[static_cast<size_t>(r)]) : 0;
          EXPECT_NEAR(numberAt(first, at), weight, bound * std::fabs(weight)) << columns;
          EXPECT_NEAR(numberAt(second, at), gradient, bound * std::fabs(gradient)) << columns;
        }
      if (isInPlace) {
        EXPECT_TRUE(products.isUntouchedBehind(columns));
        EXPECT_TRUE(cotangents.isUntouchedBehind(columns));
      }
    }
  }
}

} // namespace
