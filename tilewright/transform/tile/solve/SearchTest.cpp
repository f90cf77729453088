// Tests the search against enumeration of all choices.
#include "tilewright/transform/tile/solve/Search.h"

#include "gtest/gtest.h"

#include <random>

using namespace tilewright::solve;

namespace {

ChoiceProblem randomProblem(std::mt19937_64 &random, unsigned variables, unsigned maxValues,
                            unsigned edgePercent, unsigned impossiblePercent) {
  ChoiceProblem problem;
  auto cost = [&] {
    return random() % 100 < impossiblePercent ? impossible : static_cast<double>(random() % 20);
  };
  for (unsigned i = 0; i < variables; ++i) {
    std::vector<double> values(1 + random() % maxValues);
    for (double &value : values)
      value = cost();
    problem.addVariable(values);
  }
  for (unsigned a = 0; a < variables; ++a)
    for (unsigned b = a + 1; b < variables; ++b)
      if (random() % 100 < edgePercent) {
        ChoiceProblem::Edge edge{a, b, {}};
        for (size_t i = 0; i < problem.values[a].size() * problem.values[b].size(); ++i)
          edge.cost.push_back(cost());
        if (random() % 2) {
          // An edge may name its variables in either order.
          std::swap(edge.a, edge.b);
          std::vector<double> transposed;
          for (size_t j = 0; j < problem.values[b].size(); ++j)
            for (size_t i = 0; i < problem.values[a].size(); ++i)
              transposed.push_back(edge.cost[i * problem.values[b].size() + j]);
          edge.cost = transposed;
        }
        problem.edges.push_back(edge);
      }
  return problem;
}

double costOf(const ChoiceProblem &problem, const std::vector<unsigned> &choice) {
  double sum = 0;
  for (size_t i = 0; i < choice.size(); ++i)
    sum += problem.values[i][choice[i]];
  for (const ChoiceProblem::Edge &edge : problem.edges)
    sum += edge.cost[choice[edge.a] * problem.values[edge.b].size() + choice[edge.b]];
  return sum;
}

double leastCost(const ChoiceProblem &problem) {
  double best = impossible;
  std::vector<unsigned> choice(problem.values.size(), 0);
  while (true) {
    best = std::min(best, costOf(problem, choice));
    size_t i = 0;
    for (; i < choice.size() && ++choice[i] == problem.values[i].size(); ++i)
      choice[i] = 0;
    if (i == choice.size())
      return best;
  }
}

TEST(Search, FindsTheLeastCostOrNone) {
  std::mt19937_64 random(1);
  int unsolvable = 0;
  for (int round = 0; round < 3000; ++round) {
    ChoiceProblem problem =
        randomProblem(random, 1 + random() % 6, 4, random() % 100, random() % 60);
    const double expected = leastCost(problem);
    std::optional<ChoiceSolution> solution = solveChoices(problem);
    ASSERT_EQ(solution.has_value(), expected != impossible);
    if (!solution) {
      ++unsolvable;
      // The core is a contradiction, and every variable of it is necessary.
      std::vector<unsigned> core = smallestContradiction(problem);
      ASSERT_FALSE(core.empty());
      auto part = [&](size_t without) {
        ChoiceProblem piece;
        std::vector<int> number(problem.values.size(), -1);
        for (size_t i = 0; i < core.size(); ++i)
          if (i != without)
            number[core[i]] = static_cast<int>(piece.addVariable(problem.values[core[i]]));
        for (const ChoiceProblem::Edge &edge : problem.edges)
          if (number[edge.a] >= 0 && number[edge.b] >= 0)
            piece.edges.push_back({static_cast<unsigned>(number[edge.a]),
                                   static_cast<unsigned>(number[edge.b]), edge.cost});
        return leastCost(piece);
      };
      ASSERT_EQ(part(core.size()), impossible);
      for (size_t i = 0; i < core.size(); ++i)
        ASSERT_NE(core.size() == 1 ? 0 : part(i), impossible);
      continue;
    }
    ASSERT_EQ(solution->cost, expected);
    ASSERT_EQ(costOf(problem, solution->choice), expected);
  }
  EXPECT_GT(unsolvable, 300);
}

TEST(Search, BranchesWhereTablesWouldBeTooLarge) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2; ++round) {
    // A complete graph: the first table would have 6^7 entries.
    ChoiceProblem problem = randomProblem(random, 7, 1, 0, 0);
    for (std::vector<double> &values : problem.values)
      values.assign(6, 0.0);
    for (unsigned a = 0; a < 7; ++a)
      for (unsigned b = a + 1; b < 7; ++b) {
        ChoiceProblem::Edge edge{a, b, {}};
        for (int i = 0; i < 36; ++i)
          edge.cost.push_back(static_cast<double>(random() % 50));
        problem.edges.push_back(edge);
      }
    std::optional<ChoiceSolution> solution = solveChoices(problem);
    ASSERT_TRUE(solution);
    EXPECT_EQ(solution->cost, leastCost(problem));
    EXPECT_EQ(costOf(problem, solution->choice), solution->cost);
  }
}

TEST(Search, ComponentsAreApart) {
  ChoiceProblem problem;
  for (int i = 0; i < 4; ++i)
    problem.addVariable({1, 1});
  problem.edges.push_back({0, 1, {5, 0, 0, 5}});
  std::optional<ChoiceSolution> solution = solveChoices(problem);
  ASSERT_TRUE(solution);
  EXPECT_NE(solution->choice[0], solution->choice[1]);
  EXPECT_EQ(solution->components, 3U);
  EXPECT_EQ(solution->cost, 4);
}

} // namespace
