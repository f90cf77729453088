// Compares the gradients of attention in blocks with those computed in f64.
#include "tilewright/runtime/cpu/attention/AttentionBackward.h"

#include "tilewright/runtime/cpu/attention/testing/Examples.h"

#include <gtest/gtest.h>

#include <array>

namespace tilewright::runtime::cpu {
namespace {

/// In place of generated code. The inputs of generated code are the mask, the bias, and the maximum
/// and the sum of each row.
template <typename Element>
void compute(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
             int64_t columnEnd, const float *products, const float *cotangents, int64_t stride,
             const float *rowDots, void *weights, void *gradients) {
  const Mask mask = maskOf(buffers);
  const auto *maximum = static_cast<const float *>(buffers[2]),
             *sum = static_cast<const float *>(buffers[3]);
  for (int64_t r = 0; r < rowEnd - rowBegin; ++r)
    for (int64_t c = 0; c < columnEnd - columnBegin; ++c) {
      const int64_t row = rowBegin + r, column = columnBegin + c, at = r * stride + c;
      const double weight =
          std::exp(mask.scoreOf(products[at], row, column) - maximum[row]) / sum[row];
      const bool isVisible = column <= row + mask.causalOffset;
      const double gradient = isVisible ? weight * (cotangents[at] - rowDots[r]) * mask.scale : 0;
      for (auto [to, value] : {std::pair(weights, weight), std::pair(gradients, gradient)})
        numerics::convert(ElementType::f64, reinterpret_cast<const std::byte *>(&value),
                          sizeof(Element) == 4 ? ElementType::f32 : ElementType::bf16,
                          reinterpret_cast<std::byte *>(static_cast<Element *>(to) + at), 1);
    }
}

bool isMasked(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
              int64_t columnEnd) {
  const Mask mask = maskOf(buffers);
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t column = columnBegin; column < columnEnd; ++column)
      if (column <= row + mask.causalOffset ||
          !(static_cast<const float *>(buffers[2])[row] - mask.masked > 104))
        return false;
  return true;
}

/// The gradients of queries, keys and values.
using Gradients = std::array<std::vector<double>, 3>;

/// Dense operands, and row values and gradients in f64. `shared` heads have the same keys.
struct Example {
  BackwardProblem problem;
  Mask mask;
  int64_t own, shared;
  std::vector<std::byte> queries, keys, values, cotangent, result;
  std::vector<float> bias, maximum, sum;
  Gradients expected;

  Example(ElementType type, std::array<int64_t, 4> sizes, Mask mask, int64_t own = 2,
          int64_t shared = 1)
      : problem(BackwardProblem::dense(type, own * shared, sizes[0], sizes[1], sizes[2], sizes[3])),
        mask(mask), own(own), shared(shared) {
    const auto [m, k, d, n] = sizes;
    std::mt19937 random(7);
    queries = toType(type, randomNumbers(own * shared * m * d, random));
    keys = toType(type, randomNumbers(own * k * d, random));
    values = toType(type, randomNumbers(own * k * n, random));
    cotangent = toType(type, randomNumbers(own * shared * m * n, random));
    for (double number : randomNumbers(m * k, random))
      bias.push_back(static_cast<float>(number));
    this->mask.bias = bias.data();
    this->mask.biasStride = k;
    problem.forward.heads = {{own, shared * m * d, k * d, k * n, shared * m * n, {0, 0, 0, 0}},
                             {shared, m * d, 0, 0, m * n, {0, 0, 0, 0}}};
    for (size_t i : {2u, 3u}) {
      problem.forward.heads[0].inputStrides[i] = shared * m * 4;
      problem.forward.heads[1].inputStrides[i] = m * 4;
    }
    problem.heads = {{shared * m * n, shared * m * d, k * d, k * n},
                     {m * n, m * d, 0, 0, /*isSummed=*/true}};
    differentiate();
  }

  /// Fills `expected`, the result and the row values.
  void differentiate() {
    const AttentionProblem &shape = problem.forward;
    const int64_t m = shape.queries, k = shape.keys, d = shape.depth, n = shape.width;
    const std::vector<double> q = toDouble(shape.queryType, queries),
                              key = toDouble(shape.keyType, keys),
                              v = toDouble(shape.valueType, values),
                              c = toDouble(shape.queryType, cotangent);
    expected = {std::vector<double>(q.size()), std::vector<double>(key.size()),
                std::vector<double>(v.size())};
    std::vector<double> results(c.size());
    auto dot = [](const std::vector<double> &a, int64_t i, const std::vector<double> &b, int64_t j,
                  int64_t count) {
      double sum = 0;
      for (int64_t x = 0; x < count; ++x)
        sum += a[static_cast<size_t>(i + x)] * b[static_cast<size_t>(j + x)];
      return sum;
    };
    auto add = [](std::vector<double> &to, int64_t i, const std::vector<double> &from, int64_t j,
                  int64_t count, double factor) {
      for (int64_t x = 0; x < count; ++x)
        to[static_cast<size_t>(i + x)] += factor * from[static_cast<size_t>(j + x)];
    };
    for (int64_t row = 0; row < own * shared * m; ++row) {
      const int64_t first = row / (shared * m) * k; // the first key of the head
      std::vector<double> weights;
      double largest = -INFINITY, total = 0, ofRow = 0;
      for (int64_t i = 0; i < k; ++i) {
        weights.push_back(mask.scoreOf(dot(q, row * d, key, (first + i) * d, d), row % m, i));
        largest = std::max(largest, weights.back());
      }
      for (double &weight : weights)
        total += weight = std::exp(weight - largest);
      for (int64_t i = 0; i < k; ++i) {
        weights[static_cast<size_t>(i)] /= total;
        add(results, row * n, v, (first + i) * n, n, weights[static_cast<size_t>(i)]);
      }
      ofRow = dot(c, row * n, results, row * n, n);
      for (int64_t i = 0; i < k; ++i) {
        const double weight = weights[static_cast<size_t>(i)];
        add(expected[2], (first + i) * n, c, row * n, n, weight);
        if (i > row % m + mask.causalOffset)
          continue;
        const double gradient =
            weight * (dot(c, row * n, v, (first + i) * n, n) - ofRow) * mask.scale;
        add(expected[0], row * d, key, (first + i) * d, d, gradient);
        add(expected[1], (first + i) * d, q, row * d, d, gradient);
      }
      maximum.push_back(static_cast<float>(largest));
      sum.push_back(static_cast<float>(total));
    }
    result = toType(shape.resultType, results);
  }

  /// `wanted` tells which of the gradients of queries, keys and values are computed.
  Gradients computed(AttentionBlocks blocks = {}, unsigned threads = 1,
                     const CpuFeatures &features = CpuFeatures::host(),
                     std::array<bool, 3> wanted = {true, true, true}) const {
    const ElementType type = problem.gradientType;
    const AttentionBackward backward(
        problem, {type == ElementType::f32 ? compute<float> : compute<uint16_t>, isMasked},
        features, blocks);
    std::array<std::vector<std::byte>, 3> gradients;
    std::array<void *, 3> pointers = {};
    for (size_t i = 0; i < 3; ++i)
      if (wanted[i]) {
        gradients[i].resize(expected[i].size() * numerics::storageBytes(type), std::byte(0x5a));
        pointers[i] = gradients[i].data();
      }
    auto pointer = [](const std::vector<float> &numbers) {
      return static_cast<void *>(const_cast<float *>(numbers.data()));
    };
    ThreadPool pool(threads);
    backward.run(
        {.queries = queries.data(),
         .keys = keys.data(),
         .values = values.data(),
         .cotangent = cotangent.data(),
         .result = result.data(),
         .ofQueries = pointers[0],
         .ofKeys = pointers[1],
         .ofValues = pointers[2],
         .inputs = {const_cast<Mask *>(&mask), pointer(bias), pointer(maximum), pointer(sum)}},
        pool);
    Gradients numbers;
    for (size_t i = 0; i < 3; ++i)
      numbers[i] = toDouble(type, gradients[i]);
    return numbers;
  }
};

double largestNumber(const std::vector<double> &numbers) {
  double largest = 0;
  for (double number : numbers)
    largest = std::max(largest, std::fabs(number));
  return largest;
}

TEST(AttentionBackward, EqualsTheGradientsInF64) {
  CpuFeatures noAmx = CpuFeatures::host(), avx2 = CpuFeatures::portable();
  noAmx.amxBf16 = false;
  avx2.avx2 = CpuFeatures::host().avx2;
  const std::vector<std::array<int64_t, 4>> sizes = {
      {1, 1, 1, 1}, {5, 7, 3, 2}, {130, 300, 64, 64}, {33, 129, 40, 72}, {257, 65, 17, 33}};
  for (std::array<int64_t, 4> size : sizes)
    for (ElementType type : {ElementType::f32, ElementType::bf16})
      for (const CpuFeatures &features :
           {CpuFeatures::host(), noAmx, avx2, CpuFeatures::portable()}) {
        const Example example(type, size, {.scale = 1 / std::sqrt(static_cast<float>(size[2]))});
        const Gradients computed = example.computed({.queries = 40, .keys = 50}, 1, features);
        for (size_t i = 0; i < 3; ++i)
          EXPECT_LT(largestError(computed[i], example.expected[i]),
                    (type == ElementType::f32 ? 4e-6 : 2e-2) *
                        std::max(1.0, largestNumber(example.expected[i])))
              << "gradient " << i << " of " << size[0] << " x " << size[1] << " x " << size[2]
              << " x " << size[3] << " of " << numerics::spelling(type) << ", " << features.name();
      }
}

TEST(AttentionBackward, MaskedBlocksAreSkippedExceptInRowsWithoutOthers) {
  // With an offset of -20, the first 20 rows are masked entirely: all weights are equal.
  for (int64_t offset : {int64_t(0), int64_t(-20), int64_t(15)}) {
    const Example example(ElementType::f32, {100, 150, 16, 8},
                          {.scale = 0.25f, .causalOffset = offset});
    const Gradients computed = example.computed({.queries = 14, .keys = 32});
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LT(largestError(computed[i], example.expected[i]), 1e-5) << i << ", " << offset;
  }
}

TEST(AttentionBackward, SkippedBlocksAreNotRead) {
  Example example(ElementType::f32, {64, 256, 8, 8}, {.causalOffset = 0}, 1);
  for (std::vector<std::byte> *tensor : {&example.keys, &example.values})
    std::fill_n(reinterpret_cast<float *>(tensor->data()) + size_t(128 * 8), 128 * 8,
                std::nanf(""));
  // Their keys do not count, but each product with a block of them is NaN.
  const Gradients computed = example.computed({.keys = 32});
  for (const std::vector<double> &gradient : computed)
    for (double number : gradient)
      ASSERT_FALSE(std::isnan(number));
}

TEST(AttentionBackward, NaNStaysInItsRow) {
  Example example(ElementType::f32, {20, 90, 4, 4}, {}, 1);
  example.sum[3] = std::nanf("");
  const Gradients computed = example.computed({.keys = 32});
  EXPECT_TRUE(std::isnan(computed[0][3 * 4]));
  EXPECT_FALSE(std::isnan(computed[0][4 * 4]));
  EXPECT_TRUE(std::isnan(computed[1][0]) && std::isnan(computed[2][0]));
}

TEST(AttentionBackward, HeadsThatShareKeysAreSummed) {
  const Example example(ElementType::f32, {33, 70, 8, 12}, {.scale = 0.3f, .causalOffset = 5}, 2,
                        3);
  const Gradients computed = example.computed({.queries = 14, .keys = 32});
  for (size_t i = 0; i < 3; ++i)
    EXPECT_LT(largestError(computed[i], example.expected[i]), 1e-5) << i;
}

TEST(AttentionBackward, DoesNotDependOnThreads) {
  for (ElementType type : {ElementType::f32, ElementType::bf16})
    for (auto [own, shared] : {std::pair(1, 1), std::pair(3, 1), std::pair(1, 2)}) {
      const Example example(type, {100, 200, 16, 16}, {.causalOffset = 0}, own, shared);
      const Gradients alone = example.computed({.queries = 32, .keys = 64}, 1);
      for (unsigned threads : {2u, 4u})
        EXPECT_EQ(alone, example.computed({.queries = 32, .keys = 64}, threads)) << own << threads;
    }
}

TEST(AttentionBackward, ComputesOnlyTheGradientsThatAreWanted) {
  const Example example(ElementType::f32, {40, 50, 8, 8}, {.scale = 0.3f}, 3);
  const Gradients all = example.computed();
  for (size_t one = 0; one < 3; ++one)
    for (unsigned threads : {1u, 2u}) {
      std::array<bool, 3> wanted = {};
      wanted[one] = true;
      EXPECT_EQ(example.computed({}, threads, CpuFeatures::host(), wanted)[one], all[one]);
    }
}

TEST(AttentionBackward, WithoutQueriesTheGradientsOfKeysAreZero) {
  const Example example(ElementType::f32, {0, 50, 8, 4}, {});
  const Gradients computed = example.computed();
  EXPECT_EQ(computed[1], std::vector<double>(2 * 50 * 8));
  EXPECT_EQ(computed[2], std::vector<double>(2 * 50 * 4));
}

} // namespace
} // namespace tilewright::runtime::cpu
