#include "tilewright/runtime/cpu/matmul/Product.h"

#include "tilewright/runtime/cpu/matmul/testing/Products.h"

#include <gmock/gmock.h>

namespace tilewright::runtime::cpu {
namespace {

using test::Bytes;
using testing::HasSubstr;
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
        Candidates book;
        book.set({.measure = true, .secondsPerProblem = 0.001});
        Case each(type, rows, columns, summed);
        Product product(each.problem, book);
        for (int round = 0; round < 2; ++round) {
          each.result.assign(each.result.size(), std::byte(0xff));
          product.run(each.operands(), pool);
          EXPECT_EQ(
              test::check(each.problem, product.ours().sumsType(), each.lhs, each.rhs, each.result),
              "")
              << book.toString();
        }
        const std::vector<Decision> decisions = book.decisions();
        ASSERT_EQ(decisions.size(), 1u);
        EXPECT_EQ(decisions[0].isMeasured, decisions[0].candidates.size() > 1);
        EXPECT_THAT(decisions[0].problem, StartsWith("dot "));
        EXPECT_EQ(decisions[0].candidates[0].name, product.ours().name());
      }
}

/// Declares each candidate in turn the winner of an earlier run.
TEST(Product, UsesWhatWonEarlier) {
  ThreadPool pool(2);
  for (ElementType type : {f32, bf16, i8}) {
    Case each(type, 65, 130, 70);
    Candidates trial;
    trial.set({.measure = true, .secondsPerProblem = 0.001});
    Product(each.problem, trial).run(each.operands(), pool);
    const Decision decision = trial.decisions()[0];
    for (size_t i = 0; i < decision.candidates.size(); ++i) {
      Candidates book;
      book.set({.measure = true});
      Decision earlier = decision;
      earlier.chosen = i;
      book.add(earlier);
      each.result.assign(each.result.size(), std::byte(0xff));
      Product product(each.problem, book);
      product.run(each.operands(), pool);
      EXPECT_EQ(
          test::check(each.problem, product.ours().sumsType(), each.lhs, each.rhs, each.result), "")
          << decision.candidates[i].name;
    }
  }
}

TEST(Product, IsOursAndUnrecordedWithoutMeasuring) {
  ThreadPool pool(1);
  Candidates book;
  Case each(f32, 20, 30, 40);
  Product product(each.problem, book);
  product.run(each.operands(), pool);
  EXPECT_EQ(test::check(each.problem, f32, each.lhs, each.rhs, each.result), "");
  EXPECT_TRUE(book.decisions().empty());
}

} // namespace
} // namespace tilewright::runtime::cpu
