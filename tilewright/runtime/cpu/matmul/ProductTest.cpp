#include "tilewright/runtime/cpu/matmul/Product.h"

#include "tilewright/runtime/cpu/matmul/testing/Products.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <map>

namespace tilewright::runtime::cpu {
namespace {

using test::Bytes;
using testing::StartsWith;
using enum ElementType;

struct Case {
  explicit Case(ElementType type, int64_t rows, int64_t columns, int64_t summed)
      : problem(MatmulProblem::dense(type, type, type == i8 ? i32 : type, rows, columns, summed)) {
    std::mt19937 random(3);
    lhs = test::randomElements(type, rows * summed, random);
    rhs = test::randomElements(type, summed * columns, random);
    result = test::randomElements(problem.resultType, rows * columns, random);
  }
  MatmulOperands operands() {
    return {.lhs = lhs.data(), .rhs = rhs.data(), .result = result.data()};
  }
  MatmulProblem problem;
  Bytes lhs, rhs, result;
};

TEST(Product, EveryContenderIsRightAndTheChoiceIsRecorded) {
  for (unsigned threads : {1u, 2u})
    for (ElementType type : {f32, bf16, f16, i8, f64})
      for (auto [rows, columns, summed] :
           {std::array<int64_t, 3>{8, 8, 8}, {65, 130, 70}, {1, 200, 100}, {200, 3, 50}}) {
        ThreadPool pool(threads);
        Candidates candidates({.measure = true, .secondsPerProblem = 0.001});
        Case each(type, rows, columns, summed);
        Product product(each.problem, candidates);
        for (int round = 0; round < 2; ++round) {
          each.result.assign(each.result.size(), std::byte(0xff));
          product.run(each.operands(), pool);
          EXPECT_EQ(
              test::check(each.problem, product.ours().sumsType(), each.lhs, each.rhs, each.result),
              "");
        }
        const std::vector<Decision> decisions = candidates.decisions();
        ASSERT_LE(decisions.size(), 1u); // a product with one candidate needs no decision
        if (decisions.empty())
          continue;
        EXPECT_TRUE(decisions[0].isMeasured());
        EXPECT_THAT(decisions[0].problem, StartsWith("dot "));
        EXPECT_EQ(decisions[0].candidates[0].name, product.ours().name());
      }
}

/// Declares each candidate in turn the winner of an earlier run. Candidates that say that they add
/// in the same order must compute the same bits.
TEST(Product, UsesTheWinnerOfAnEarlierRunAndOrdersTellTheBits) {
  const std::string path = std::string(std::tmpnam(nullptr)) + "-tuning";
  for (unsigned threads : {1u, 2u, 8u})
    for (ElementType type : {f32, bf16, i8, f64})
      for (auto [rows, columns, summed] :
           {std::array<int64_t, 3>{300, 290, 70}, {65, 260, 20}, {4, 20, 5000}, {20, 20, 3000}}) {
        ThreadPool pool(threads);
        Case each(type, rows, columns, summed);
        Candidates trial({.measure = true, .secondsPerProblem = 0});
        Product(each.problem, trial).run(each.operands(), pool);
        if (trial.decisions().empty())
          continue;
        const Decision decision = trial.decisions()[0];
        std::map<std::string, Bytes> byOrder;
        for (size_t i = 0; i < decision.candidates.size(); ++i) {
          Decision earlier = decision;
          for (size_t j = 0; j < earlier.candidates.size(); ++j)
            earlier.candidates[j].seconds = i == j ? 1e-3 : 2e-3;
          std::remove(path.c_str());
          Candidates candidates({.file = *TuningFile::open(path)});
          ASSERT_TRUE(candidates.settings().file->add(earlier).isOk());
          each.result.assign(each.result.size(), std::byte(0xff));
          Product product(each.problem, candidates);
          product.run(each.operands(), pool);
          EXPECT_EQ(candidates.decisions()[0].chosen, i);
          const auto [first, isNew] =
              byOrder.try_emplace(decision.candidates[i].order, each.result);
          if (isNew)
            EXPECT_EQ(test::check(each.problem, product.ours().sumsType(), each.lhs, each.rhs,
                                  each.result),
                      "")
                << decision.candidates[i].name;
          EXPECT_TRUE(isNew || first->second == each.result)
              << decision.candidates[i].name << " computes other bits than another candidate that "
              << "adds in the order '" << decision.candidates[i].order << "'; " << decision.problem;
        }
      }
  std::remove(path.c_str());
}

/// buffers: the result, its width. Adds to the result, as an epilogue
/// does whose residual shares memory with its result.
void addToResult(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                 int64_t columnEnd, const void *tile, int64_t tileStride) {
  auto *result = static_cast<float *>(buffers[0]);
  const int64_t width = *static_cast<const int64_t *>(buffers[1]);
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t column = columnBegin; column < columnEnd; ++column)
      result[row * width + column] +=
          static_cast<const float *>(tile)[(row - rowBegin) * tileStride + column - columnBegin];
}

TEST(Product, MeasuresWithoutCallingTheEpilogue) {
  for (auto [rows, columns, summed] :
       {std::array<int64_t, 3>{300, 290, 70}, {1, 200, 1000}, {150, 160, 3000}})
    for (unsigned threads : {1u, 2u}) {
      ThreadPool pool(threads);
      Candidates candidates({.measure = true, .secondsPerProblem = 0.001});
      Case each(f32, rows, columns, summed);
      std::vector<float> result(static_cast<size_t>(rows * columns)), once(result.size());
      int64_t width = columns;
      void *buffers[] = {result.data(), &width};
      const Product product(each.problem, candidates, Product::Form::fused);
      MatmulOperands operands{
          .lhs = each.lhs.data(), .rhs = each.rhs.data(), .epilogue = {addToResult, buffers}};
      product.run(operands, pool);
      once = result;
      Bytes bytes(result.size() * 4);
      std::memcpy(bytes.data(), result.data(), bytes.size());
      EXPECT_EQ(test::check(each.problem, f32, each.lhs, each.rhs, bytes), "");
      product.run(operands, pool);
      for (size_t i = 0; i < result.size(); ++i)
        ASSERT_EQ(result[i], 2 * once[i]) << "the first run and later ones use the same kernel";
      ASSERT_EQ(candidates.decisions().size(), 1u);
      const Decision decision = candidates.decisions()[0];
      EXPECT_TRUE(decision.isMeasured());
      EXPECT_THAT(decision.problem, testing::HasSubstr(" with an epilogue, "));
      for (const Candidate &candidate : decision.candidates)
        EXPECT_THAT(candidate.name, testing::Not(StartsWith("onednn")));
    }
}

TEST(Product, IsOursAndUnrecordedWithoutMeasuring) {
  ThreadPool pool(1);
  Candidates candidates;
  Case each(f32, 20, 30, 40);
  Product product(each.problem, candidates);
  product.run(each.operands(), pool);
  EXPECT_EQ(test::check(each.problem, f32, each.lhs, each.rhs, each.result), "");
  EXPECT_TRUE(candidates.decisions().empty());
}

} // namespace
} // namespace tilewright::runtime::cpu
