#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include "tilewright/runtime/cpu/matmul/testing/Products.h"
#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

#include <bit>

namespace tilewright::runtime::cpu {
namespace {

using test::Bytes;
using enum ElementType;

/// The machines that this one can emulate: with every set of features that selects different
/// kernels.
std::vector<CpuFeatures> featureSets() {
  std::vector<CpuFeatures> result;
  CpuFeatures features = CpuFeatures::host();
  result.push_back(features);
  features.amxBf16 = features.amxInt8 = false;
  features.fastBf16Pairs = features.avx512Bf16;
  result.push_back(features);
  features.avx512Vnni = features.avx512Bf16 = features.fastBf16Pairs = false;
  result.push_back(features);
  features.avx512 = false;
  result.push_back(features);
  result.push_back(CpuFeatures::portable());
  return result;
}

ThreadPool &poolOf(unsigned threads) {
  static ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  return pools[threads - 1];
}

/// Runs a problem whose operands take `lhsCount`, `rhsCount` and `resultCount` elements.
std::string runAndCheck(const MatmulProblem &problem, int64_t lhsCount, int64_t rhsCount,
                        int64_t resultCount, const CpuFeatures &features, unsigned threads,
                        const Matmul::Choice &choice = {}) {
  std::mt19937 random(42);
  Bytes lhs = test::randomElements(problem.lhsType, lhsCount, random);
  Bytes rhs = test::randomElements(problem.rhsType, rhsCount, random);
  Bytes result = test::randomElements(problem.resultType, resultCount, random);
  Matmul matmul(problem, features, choice);
  matmul.run({.lhs = lhs.data(), .rhs = rhs.data(), .result = result.data()}, poolOf(threads));
  std::string difference = test::check(problem, matmul.sumsType(), lhs, rhs, result);
  return difference.empty() ? "" : concat(matmul.name(), " ", difference);
}

std::string runDense(ElementType lhs, ElementType rhs, ElementType result, int64_t rows,
                     int64_t columns, int64_t summed, const CpuFeatures &features, unsigned threads,
                     const Matmul::Choice &choice = {}) {
  return runAndCheck(MatmulProblem::dense(lhs, rhs, result, rows, columns, summed), rows * summed,
                     summed * columns, rows * columns, features, threads, choice);
}

struct Types {
  ElementType lhs, rhs, result;
};
const Types allTypes[] = {
    {f32, f32, f32},
    {f64, f64, f64},
    {bf16, bf16, bf16},
    {bf16, bf16, f32},
    {f16, f16, f16},
    {f16, f16, f32},
    {f32, bf16, f32},
    {i8, i8, i32},
    {i8, ui8, i32},
    {ui8, i8, i32},
    {ui8, ui8, i32},
    {i8, i8, i8},
    {ui8, ui8, ui8},
    {i16, i16, i32},
    {i16, i16, i16},
    {ui16, ui16, ui16},
    {i32, i32, i32},
    {ui32, ui32, ui32},
    {i64, i64, i64},
    {i8, i8, i64},
    {pred, pred, pred},
    {pred, pred, i32},
    {i4, i4, i32},
    {ui4, i4, i4},
    {c64, c64, c64},
    {c128, c128, c128},
    {f8E4M3FN, f8E5M2, f32},
    {f4E2M1FN, f4E2M1FN, bf16},
    {f8E8M0FNU, f8E8M0FNU, f32},
    {i8, bf16, f32},
    {f8E4M3FN, f8E4M3FN, f8E4M3FN},
    {f32, c64, c64},
};

TEST(Matmul, AgreesWithTheDefinitionForAllTypesAndMachines) {
  for (const CpuFeatures &features : featureSets())
    for (const Types &types : allTypes)
      for (auto [rows, columns, summed] :
           {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 7}, {17, 33, 65}, {47, 70, 131}})
        for (bool allowDirect : {true, false})
          EXPECT_EQ(runDense(types.lhs, types.rhs, types.result, rows, columns, summed, features, 1,
                             {.allowDirect = allowDirect}),
                    "")
              << features.name() << " " << numerics::spelling(types.lhs) << " x "
              << numerics::spelling(types.rhs) << " -> " << numerics::spelling(types.result) << ", "
              << rows << "x" << summed << "x" << columns;
}

TEST(Matmul, TakesEveryEdgeOfBlocks) {
  const int64_t sizes[] = {1, 2, 13, 14, 15, 16, 17, 31, 32, 33, 48, 64, 97};
  for (const CpuFeatures &features : featureSets())
    for (int64_t rows : sizes)
      for (int64_t columns : sizes)
        for (const Types &types :
             {Types{f32, f32, f32}, {bf16, bf16, bf16}, {i8, i8, i32}, {ui8, ui8, i32}})
          ASSERT_EQ(runDense(types.lhs, types.rhs, types.result, rows, columns, 19, features, 1,
                             {.allowVector = false, .allowDirect = false}),
                    "")
              << features.name() << " " << rows << "x" << columns;
}

/// Long panels are loaded, and their sums stored, in another way, and very long ones are divided.
TEST(Matmul, TakesEveryEdgeOfLongPanels) {
  for (int64_t rows : {1, 16, 33})
    for (int64_t columns : {15, 31, 64})
      for (const Types &types : {Types{bf16, bf16, f32}, {bf16, bf16, bf16}, {i8, ui8, i32}})
        for (int64_t summed : {600, 1100, 2300})
          for (unsigned threads : {1u, 2u})
            ASSERT_EQ(runDense(types.lhs, types.rhs, types.result, rows, columns, summed,
                               CpuFeatures::host(), threads,
                               {.allowVector = false, .allowDirect = false}),
                      "")
                << rows << "x" << summed << "x" << columns;
}

/// The sums of a part of a matrix are those of the whole one: an element's bits depend neither on
/// whether it is at an edge, nor on a NaN or infinity in another row or column.
TEST(Matmul, TileRegistersAddAllElementsInTheSameOrder) {
  if (!CpuFeatures::host().amxBf16)
    GTEST_SKIP() << "this machine has no AMX";
  constexpr int64_t rows = 70, columns = 96, summed = 1500, special = 69;
  std::mt19937 random(11);
  Bytes lhs = test::randomElements(bf16, rows * summed, random);
  Bytes rhs = test::randomElements(bf16, columns * summed, random);
  const uint16_t nan = 0x7fc0, infinity = 0x7f80;
  std::memcpy(lhs.data() + (special * summed + 7) * 2, &nan, 2);
  std::memcpy(rhs.data() + (special * summed + 1200) * 2, &infinity, 2);
  auto multiply = [&](int64_t ofRows, int64_t ofColumns) {
    MatmulProblem problem = MatmulProblem::dense(bf16, bf16, f32, ofRows, ofColumns, summed);
    problem.rhsSummed.stride = 1;
    problem.rhsColumns.stride = summed;
    std::vector<uint32_t> result(static_cast<size_t>(ofRows * ofColumns));
    Matmul matmul(problem, CpuFeatures::host(), {.allowVector = false, .allowDirect = false});
    matmul.run({.lhs = lhs.data(), .rhs = rhs.data(), .result = result.data()}, poolOf(1));
    return result;
  };
  const std::vector<uint32_t> whole = multiply(rows, columns);
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(whole[special * columns])));
  EXPECT_TRUE(std::isinf(std::bit_cast<float>(whole[special])));
  for (int64_t ofRows : {1, 16, 31, 40, 64, 69})
    for (int64_t ofColumns : {1, 16, 33, 64, 69}) {
      const std::vector<uint32_t> part = multiply(ofRows, ofColumns);
      for (int64_t i = 0; i < ofRows; ++i)
        for (int64_t j = 0; j < ofColumns; ++j)
          ASSERT_EQ(part[static_cast<size_t>(i * ofColumns + j)],
                    whole[static_cast<size_t>(i * columns + j)])
              << "element " << i << ", " << j << " of " << ofRows << "x" << ofColumns;
    }
}

TEST(Matmul, TileRegistersSplitOnlyVeryLongSums) {
  if (!CpuFeatures::host().amxBf16)
    GTEST_SKIP() << "this machine has no AMX";
  auto isSplit = [](int64_t summed) {
    Matmul matmul(MatmulProblem::dense(bf16, bf16, f32, 32, 32, summed), CpuFeatures::host(),
                  {.allowVector = false, .allowDirect = false});
    return matmul.order(1) != matmul.order(2);
  };
  EXPECT_FALSE(isSplit(2048));
  EXPECT_TRUE(isSplit(4096));
}

TEST(Matmul, IsTheSameOnAnyNumberOfThreads) {
  for (unsigned threads : {1u, 2u, 3u})
    for (auto [rows, columns, summed] :
         {std::array<int64_t, 3>{300, 200, 100}, {600, 64, 300}, {20, 1100, 300}, {8, 8, 20000}})
      for (const Types &types : {Types{f32, f32, f32}, {bf16, bf16, bf16}, {i8, i8, i32}})
        EXPECT_EQ(runDense(types.lhs, types.rhs, types.result, rows, columns, summed,
                           CpuFeatures::host(), threads),
                  "")
            << threads << " threads, " << rows << "x" << summed << "x" << columns;
}

/// Shared panels are packed for a few rows and columns of tiles at a time.
TEST(Matmul, BoundsThePanelsThatTilesShare) {
  for (int64_t maxShared : {1, 30'000, 100'000})
    for (unsigned threads : {1u, 2u})
      for (auto [rows, columns, summed] :
           {std::array<int64_t, 3>{300, 200, 70}, {70, 300, 40}, {150, 40, 500}})
        for (const Types &types : {Types{f32, f32, f32}, {bf16, bf16, bf16}, {i8, i8, i32}})
          EXPECT_EQ(runDense(types.lhs, types.rhs, types.result, rows, columns, summed,
                             CpuFeatures::host(), threads,
                             {.maxRows = 64, .maxColumns = 64, .maxShared = maxShared}),
                    "")
              << maxShared << " bytes, " << rows << "x" << summed << "x" << columns;
}

TEST(Matmul, StreamsVectors) {
  for (const CpuFeatures &features : featureSets())
    for (const Types &types : {Types{f32, f32, f32},
                               {f64, f64, f64},
                               {bf16, bf16, f32},
                               {f16, f16, f16},
                               {i8, i8, i32},
                               {i8, ui8, i32},
                               {ui8, i8, i32},
                               {ui8, ui8, i32},
                               {i4, i8, i32},
                               {i16, i8, i32},
                               {i32, i32, i32}})
      for (auto [rows, columns] : {std::array<int64_t, 2>{1, 1000},
                                   {1000, 1},
                                   {1, 3},
                                   {1, 4001},
                                   {4001, 1},
                                   {2, 64},
                                   {5, 321},
                                   {8, 640}})
        for (bool isTransposed : {false, true}) {
          const int64_t summed = 133;
          MatmulProblem problem =
              MatmulProblem::dense(types.lhs, types.rhs, types.result, rows, columns, summed);
          if (isTransposed) {
            problem.rhsSummed.stride = 1;
            problem.rhsColumns.stride = summed;
            problem.lhsSummed.stride = rows;
            problem.lhsRows.stride = 1;
          }
          EXPECT_EQ(runAndCheck(problem, rows * summed, columns * summed, rows * columns, features,
                                2, {.allowDirect = false}),
                    "")
              << rows << "x" << columns;
        }
}

TEST(Matmul, TakesAnyStrides) {
  for (const Types &types :
       {Types{f32, f32, f32}, {bf16, bf16, bf16}, {i8, i8, i32}, {c64, c64, c64}, {f16, f16, f32}})
    for (int order = 0; order < 8; ++order)
      for (int64_t gap : {1, 2})
        for (int64_t size : {5, 70}) {
          const int64_t rows = size, columns = size + 3, summed = size + 1;
          auto place = [&](Placement &outer, Placement &inner, int64_t outerSize, int64_t innerSize,
                           bool swapped) {
            outer.stride = swapped ? gap : innerSize * gap;
            inner.stride = swapped ? outerSize * gap : gap;
          };
          MatmulProblem problem =
              MatmulProblem::dense(types.lhs, types.rhs, types.result, rows, columns, summed);
          place(problem.lhsRows, problem.lhsSummed, rows, summed, order & 1);
          place(problem.rhsSummed, problem.rhsColumns, summed, columns, order & 2);
          place(problem.resultRows, problem.resultColumns, rows, columns, order & 4);
          for (const CpuFeatures &features : {CpuFeatures::host(), CpuFeatures::portable()})
            EXPECT_EQ(runAndCheck(problem, rows * summed * gap, summed * columns * gap,
                                  rows * columns * gap, features, 2),
                      "")
                << "order " << order << " gap " << gap << " size " << size;
        }
}

/// lhs[m0, k, m1] and rhs[k, n]: the rows consist of two dimensions with another between them.
TEST(Matmul, TakesSidesOfSeveralDimensions) {
  for (ElementType type : {f32, bf16, i32})
    for (int64_t inner : {3, 40}) {
      const int64_t outer = 4, summed = 21, columns = 37;
      MatmulProblem problem =
          MatmulProblem::dense(type, type, type, outer * inner, columns, summed);
      for (int64_t i = 0; i < outer * inner; ++i)
        problem.lhsRows.offsets.push_back(i / inner * summed * inner + i % inner);
      problem.lhsSummed.stride = inner;
      EXPECT_EQ(runAndCheck(problem, outer * inner * summed, summed * columns,
                            outer * inner * columns, CpuFeatures::host(), 2),
                "");
    }
}

TEST(Matmul, RunsBatches) {
  for (auto [rows, columns, summed] :
       {std::array<int64_t, 3>{4, 4, 4}, {1, 300, 40}, {70, 80, 90}, {150, 155, 150}})
    for (unsigned threads : {1u, 2u, 3u}) {
      MatmulProblem problem = MatmulProblem::dense(f32, f32, f32, rows, columns, summed);
      // The second batch dimension of lhs is outermost in memory; rhs is broadcast along it.
      problem.batch = {{3, rows * summed, summed * columns, 2 * rows * columns},
                       {2, 3 * rows * summed, 0, rows * columns}};
      EXPECT_EQ(runAndCheck(problem, 6 * rows * summed, 3 * summed * columns, 6 * rows * columns,
                            CpuFeatures::host(), threads),
                "");
    }
}

TEST(Matmul, ShortSumsOfNumbersTimesTheirConjugatesAreReal) {
  constexpr int64_t summed = 33;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> number(-3, 3);
  std::vector<float> lhs, rhs;
  for (int64_t i = 0; i < summed; ++i) {
    const float real = number(random), imag = number(random);
    lhs.insert(lhs.end(), {real, imag});
    rhs.insert(rhs.end(), {real, -imag});
  }
  for (const CpuFeatures &features : featureSets()) {
    float result[2];
    Matmul matmul(MatmulProblem::dense(c64, c64, c64, 1, 1, summed), features);
    matmul.run({.lhs = lhs.data(), .rhs = rhs.data(), .result = result}, poolOf(1));
    EXPECT_EQ(result[1], 0) << matmul.name();
  }
}

TEST(Matmul, SumsOfNothingAreZero) {
  EXPECT_EQ(runDense(f32, f32, f32, 3, 4, 0, CpuFeatures::host(), 1), "");
  EXPECT_EQ(runDense(i8, i8, i32, 3, 1, 0, CpuFeatures::host(), 1), "");
  EXPECT_EQ(runDense(f32, f32, f32, 0, 4, 3, CpuFeatures::host(), 1), "");
  EXPECT_EQ(runDense(f32, f32, f32, 3, 0, 3, CpuFeatures::host(), 1), "");
}

/// buffers: bias, result, number of columns.
void addBiasAndGelu(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                    int64_t columnEnd, const void *tile, int64_t tileStride) {
  const auto *bias = static_cast<const float *>(buffers[0]);
  auto *result = static_cast<float *>(buffers[1]);
  const int64_t columns = *static_cast<const int64_t *>(buffers[2]);
  const auto *sums = static_cast<const float *>(tile);
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t column = columnBegin; column < columnEnd; ++column) {
      const float x = sums[(row - rowBegin) * tileStride + column - columnBegin] + bias[column];
      result[row * columns + column] += x * 0.5f * (1 + std::erf(x * 0.70710678f));
    }
}

TEST(Matmul, HandsFinishedTilesToTheEpilogueOnce) {
  for (auto [rows, columns, summed] : {std::array<int64_t, 3>{5, 6, 7},
                                       {300, 700, 100},
                                       {1, 2000, 300},
                                       {2000, 1, 300},
                                       {9, 9, 30000},
                                       {3, 4, 0}})
    for (ElementType type : {f32, bf16})
      for (int64_t batch : {1, 3}) {
        MatmulProblem problem = MatmulProblem::dense(type, type, f32, rows, columns, summed);
        problem.batch = {{batch, rows * summed, summed * columns, rows * columns}};
        std::mt19937 random(7);
        Bytes lhs = test::randomElements(type, batch * rows * summed, random);
        Bytes rhs = test::randomElements(type, batch * columns * summed, random);
        Bytes bias = test::randomElements(f32, columns, random);
        std::vector<float> plain(static_cast<size_t>(batch * rows * columns));
        std::vector<float> fused(plain.size()), expected(plain.size());
        int64_t width = columns;
        void *buffers[] = {bias.data(), fused.data(), &width};
        Matmul matmul(problem);
        matmul.run({.lhs = lhs.data(), .rhs = rhs.data(), .result = plain.data()}, poolOf(3));
        matmul.run({.lhs = lhs.data(), .rhs = rhs.data(), .epilogue = {addBiasAndGelu, buffers}},
                   poolOf(3));
        buffers[1] = expected.data();
        addBiasAndGelu(buffers, 0, batch * rows, 0, columns, plain.data(), columns);
        EXPECT_EQ(fused, expected)
            << matmul.name() << " " << rows << "x" << summed << "x" << columns;
      }
}

/// buffers: the operand, its row stride. Doubles what it loads.
void makeTwice(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
               int64_t summedEnd, void *tile, int64_t tileStride) {
  const auto *from = static_cast<const float *>(buffers[0]);
  const int64_t stride = *static_cast<const int64_t *>(buffers[1]);
  for (int64_t line = lineBegin; line < lineEnd; ++line)
    for (int64_t k = summedBegin; k < summedEnd; ++k)
      static_cast<float *>(tile)[(line - lineBegin) * tileStride + k - summedBegin] =
          2 * from[line * stride + k];
}

TEST(Matmul, AsksThePrologueForOperands) {
  for (auto [rows, columns, summed] :
       {std::array<int64_t, 3>{5, 6, 7}, {300, 200, 100}, {1, 2000, 300}, {2000, 1, 300}}) {
    MatmulProblem problem = MatmulProblem::dense(f32, f32, f32, rows, columns, summed);
    std::mt19937 random(7);
    Bytes lhs = test::randomElements(f32, rows * summed, random), twice = lhs;
    Bytes rhs = test::randomElements(f32, columns * summed, random);
    for (int64_t i = 0; i < rows * summed; ++i)
      reinterpret_cast<float *>(twice.data())[i] *= 2;
    Bytes result(static_cast<size_t>(rows * columns) * 4);
    int64_t stride = summed;
    void *buffers[] = {lhs.data(), &stride};
    Matmul matmul(problem);
    matmul.run({.rhs = rhs.data(), .result = result.data(), .lhsPrologue = {makeTwice, buffers}},
               poolOf(2));
    EXPECT_EQ(test::check(problem, f32, twice, rhs, result), "") << matmul.name();
  }
}

} // namespace
} // namespace tilewright::runtime::cpu
