// Compares attention in blocks with softmax(scores) * values computed in f64.
#include "tilewright/runtime/cpu/attention/Attention.h"

#include "tilewright/runtime/cpu/attention/testing/Examples.h"

#include <gtest/gtest.h>

#include <array>

namespace tilewright::runtime::cpu {
namespace {

template <typename Weight>
void update(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
            int64_t columnEnd, float *tile, int64_t tileStride, void *weights,
            int64_t weightsStride, float *maximum, float *sum, float *factor) {
  const Mask mask = maskOf(buffers);
  for (int64_t r = 0; r < rowEnd - rowBegin; ++r) {
    float *scores = tile + r * tileStride;
    float now = maximum[r];
    for (int64_t c = 0; c < columnEnd - columnBegin; ++c) {
      scores[c] = static_cast<float>(mask.scoreOf(scores[c], rowBegin + r, columnBegin + c));
      now = std::max(now, scores[c]);
    }
    auto finite = [](float value) { return std::isfinite(value) ? value : 0.0f; };
    factor[r] = maximum[r] == -infinity ? 1 : std::exp(finite(maximum[r]) - finite(now));
    maximum[r] = now;
    sum[r] *= factor[r];
    for (int64_t c = 0; c < columnEnd - columnBegin; ++c) {
      const float weight = std::exp(scores[c] - finite(now));
      sum[r] += weight;
      if constexpr (sizeof(Weight) == sizeof(float))
        static_cast<float *>(weights)[r * weightsStride + c] = weight;
      else
        numerics::convert(ElementType::f32, reinterpret_cast<const std::byte *>(&weight),
                          ElementType::bf16,
                          static_cast<std::byte *>(weights) + (r * weightsStride + c) * 2, 1);
    }
  }
}

bool isMasked(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
              int64_t columnEnd) {
  const Mask mask = maskOf(buffers);
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t column = columnBegin; column < columnEnd; ++column)
      if (column <= row + mask.causalOffset)
        return false;
  return true;
}

/// The operands of dense attention, and its result in f64.
struct Example {
  AttentionProblem problem;
  Mask mask;
  std::vector<std::byte> queries, keys, values;
  std::vector<float> bias;

  Example(const AttentionProblem &problem, Mask mask, bool hasBias, unsigned seed = 1)
      : problem(problem), mask(mask) {
    std::mt19937 random(seed);
    const int64_t heads = problem.headCount();
    queries =
        toType(problem.queryType, randomNumbers(heads * problem.queries * problem.depth, random));
    keys = toType(problem.keyType, randomNumbers(heads * problem.keys * problem.depth, random));
    values = toType(problem.valueType, randomNumbers(heads * problem.keys * problem.width, random));
    this->problem.heads[0].inputStrides = {0, 0};
    this->problem.maskedScore = mask.masked;
    if (hasBias) {
      for (double number : randomNumbers(heads * problem.queries * problem.keys, random))
        bias.push_back(static_cast<float>(number));
      this->mask.bias = bias.data();
      this->mask.biasStride = problem.keys;
      this->problem.heads[0].inputStrides[1] = problem.queries * problem.keys * 4;
    }
  }

  std::vector<double> expected() const {
    const std::vector<double> q = toDouble(problem.queryType, queries),
                              k = toDouble(problem.keyType, keys),
                              v = toDouble(problem.valueType, values);
    const auto heads = problem.headCount();
    std::vector<double> result(static_cast<size_t>(heads * problem.queries * problem.width));
    std::vector<double> scores(static_cast<size_t>(problem.keys));
    for (int64_t row = 0; row < heads * problem.queries; ++row) {
      const int64_t head = row / problem.queries;
      Mask ofHead = mask;
      if (ofHead.bias)
        ofHead.bias += head * problem.queries * problem.keys;
      double maximum = -INFINITY, sum = 0;
      for (int64_t key = 0; key < problem.keys; ++key) {
        double product = 0;
        for (int64_t d = 0; d < problem.depth; ++d)
          product += q[static_cast<size_t>(row * problem.depth + d)] *
                     k[static_cast<size_t>((head * problem.keys + key) * problem.depth + d)];
        double &score = scores[static_cast<size_t>(key)];
        score = ofHead.scoreOf(product, row % problem.queries, key);
        maximum = std::max(maximum, score);
      }
      for (double &score : scores)
        sum += score = std::exp(score - maximum);
      for (int64_t key = 0; key < problem.keys; ++key)
        for (int64_t n = 0; n < problem.width; ++n)
          result[static_cast<size_t>(row * problem.width + n)] +=
              scores[static_cast<size_t>(key)] / sum *
              v[static_cast<size_t>((head * problem.keys + key) * problem.width + n)];
    }
    return result;
  }

  std::vector<double> computed(AttentionBlocks blocks = {}, unsigned threads = 1,
                               const CpuFeatures &features = CpuFeatures::host()) const {
    const ScoreFunction score{
        problem.weightType == ElementType::f32 ? update<float> : update<uint16_t>, isMasked};
    const Attention attention(problem, score, features, blocks);
    std::vector<std::byte> result(
        static_cast<size_t>(problem.headCount() * problem.queries * problem.width) *
        numerics::storageBytes(problem.resultType));
    ThreadPool pool(threads);
    attention.run({.queries = queries.data(),
                   .keys = keys.data(),
                   .values = values.data(),
                   .result = result.data(),
                   .inputs = {const_cast<Mask *>(&mask), const_cast<float *>(bias.data())}},
                  pool);
    return toDouble(problem.resultType, result);
  }
};

/// Sizes that leave remainders in every dimension, and smaller ones than a block.
const std::vector<std::array<int64_t, 4>> sizes = {
    {1, 1, 1, 1}, {5, 7, 3, 2}, {130, 300, 64, 64}, {33, 129, 40, 72}, {257, 65, 17, 33}};

TEST(Attention, EqualsSoftmaxTimesValues) {
  CpuFeatures noAmx = CpuFeatures::host();
  noAmx.amxBf16 = false;
  for (auto [queries, keys, depth, width] : sizes)
    for (ElementType type : {ElementType::f32, ElementType::bf16})
      for (const CpuFeatures &features : {CpuFeatures::host(), noAmx, CpuFeatures::portable()})
        for (bool hasBias : {false, true}) {
          const float scale = 1 / std::sqrt(static_cast<float>(depth));
          const Example example(AttentionProblem::dense(type, 2, queries, keys, depth, width),
                                {.scale = scale}, hasBias);
          const double bound = type == ElementType::f32 ? 2e-6 : 2e-2;
          EXPECT_LT(largestError(example.computed({.queries = 40, .keys = 50}, 1, features),
                                 example.expected()),
                    bound)
              << queries << " x " << keys << " x " << depth << " x " << width << " of "
              << numerics::spelling(type) << ", " << features.name();
        }
}

TEST(Attention, MaskedBlocksCountOnlyInRowsWithoutOthers) {
  // With an offset of -20, the first 20 rows are masked entirely: the mean of all values if the
  // masked score is finite, and NaN if it is -inf.
  for (float masked : {-2.4e38f, -infinity})
    for (int64_t offset : {int64_t(0), int64_t(-20), int64_t(15)}) {
      const Example example(AttentionProblem::dense(ElementType::f32, 1, 100, 150, 16, 8),
                            {.scale = 0.25f, .causalOffset = offset, .masked = masked}, false);
      const std::vector<double> computed = example.computed({.queries = 14, .keys = 32});
      EXPECT_LT(largestError(computed, example.expected()), 2e-6) << offset << " " << masked;
      EXPECT_EQ(std::isnan(computed[0]), offset < 0 && masked == -infinity);
    }
}

TEST(Attention, SkipsMaskedBlocks) {
  // Products of masked keys would be NaN, and their values too.
  Example example(AttentionProblem::dense(ElementType::f32, 1, 64, 256, 8, 8), {.causalOffset = 0},
                  false);
  auto *keys = reinterpret_cast<float *>(example.keys.data());
  auto *values = reinterpret_cast<float *>(example.values.data());
  std::fill(keys + 128 * 8, keys + 256 * 8, std::nanf(""));
  std::fill(values + 128 * 8, values + 256 * 8, std::nanf(""));
  for (double number : example.computed({.keys = 32}))
    ASSERT_FALSE(std::isnan(number));
}

TEST(Attention, RowsOfNaNAndInfinity) {
  for (float special : {std::nanf(""), infinity, -infinity}) {
    Example example(AttentionProblem::dense(ElementType::f32, 1, 20, 90, 4, 4), {}, true);
    example.bias[3 * 90 + 70] = special;
    const std::vector<double> computed = example.computed({.keys = 32});
    EXPECT_LT(largestError(computed, example.expected()), 2e-6) << special;
    EXPECT_EQ(std::isnan(computed[3 * 4]), special != -infinity);
    EXPECT_FALSE(std::isnan(computed[4 * 4]));
  }
}

TEST(Attention, DoesNotDependOnThreads) {
  const Example example(AttentionProblem::dense(ElementType::f32, 3, 100, 200, 16, 16),
                        {.causalOffset = 0}, true);
  EXPECT_EQ(example.computed({.queries = 14, .keys = 64}, 1),
            example.computed({.queries = 14, .keys = 64}, 4));
  // One block for one thread, several for several.
  const Example small(AttentionProblem::dense(ElementType::bf16, 1, 100, 200, 16, 16),
                      {.causalOffset = 0}, true);
  EXPECT_EQ(small.computed({}, 1), small.computed({}, 3));
}

/// Threads share the rows, and a masked key is left out for some of them: bits and NaN must be
/// those of one thread, also where the weight 0 meets a value that is infinite or NaN.
TEST(Attention, MaskedKeysDoNotDependOnThreads) {
  CpuFeatures noAmx = CpuFeatures::host();
  noAmx.amxBf16 = false;
  for (ElementType type : {ElementType::f32, ElementType::bf16})
    for (const CpuFeatures &features : {CpuFeatures::host(), noAmx, CpuFeatures::portable()})
      for (float special : {std::nanf(""), infinity, -infinity})
        for (int64_t offset : {int64_t(0), int64_t(-20), int64_t(37)}) {
          Example example(AttentionProblem::dense(type, 1, 300, 320, 8, 8),
                          {.causalOffset = offset}, true);
          const std::vector<double> number(1, special);
          const std::vector<std::byte> bytes = toType(type, number);
          for (int64_t key : {63, 64, 150, 255, 256, 319})
            for (std::vector<std::byte> *of : {&example.keys, &example.values})
              std::copy(bytes.begin(), bytes.end(),
                        of->begin() + static_cast<int64_t>(bytes.size()) * (8 * key + key % 8));
          const std::vector<double> one = example.computed({.keys = 64}, 1, features);
          for (unsigned threads : {2u, 3u, 7u}) {
            const std::vector<double> several = example.computed({.keys = 64}, threads, features);
            size_t different = 0;
            for (size_t i = 0; i < one.size(); ++i)
              different += std::isnan(one[i]) ? !std::isnan(several[i]) : one[i] != several[i];
            EXPECT_EQ(different, 0u) << threads << " threads, " << special << ", offset " << offset
                                     << ", " << numerics::spelling(type) << ", " << features.name();
          }
        }
}

} // namespace
} // namespace tilewright::runtime::cpu
