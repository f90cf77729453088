#include "tilewright/transform/distribute/MinCut.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::distribute {
namespace {

TEST(MinCut, EachNodeTakesItsCheaperAnswerIfNothingConnectsThem) {
  MinCut cut(3);
  cut.price(0, 5, 1);
  cut.price(1, 1, 5);
  cut.price(2, 2, 2);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false, false}));
}

TEST(MinCut, NeighboursFollowIfBeingApartCostsMore) {
  MinCut cut(2);
  cut.price(0, 5, 1);
  cut.price(1, 0, 2);
  cut.priceIfApart(1, 0, 3);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, true}));
}

TEST(MinCut, APriceForBeingApartHasADirection) {
  MinCut cut(2);
  cut.price(0, 5, 1);
  cut.price(1, 0, 2);
  cut.priceIfApart(0, 1, 3);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, false}));
}

TEST(MinCut, NodesCanBeAdded) {
  MinCut cut(1);
  const size_t other = cut.addNode();
  ASSERT_EQ(other, 1u);
  cut.price(other, 4, 0);
  cut.priceIfApart(0, other, 1);
  EXPECT_EQ(cut.solve(), (std::vector<bool>{true, true}));
}

/// The price of an answer for every node, from the terms that were added to a MinCut.
struct Problem {
  size_t nodes;
  std::vector<std::pair<double, double>> own;
  std::vector<std::vector<double>> apart;

  double priceOf(unsigned answers) const {
    double sum = 0;
    auto isOne = [&](size_t node) { return (answers >> node & 1) != 0; };
    for (size_t node = 0; node < nodes; ++node) {
      sum += isOne(node) ? own[node].second : own[node].first;
      for (size_t other = 0; other < nodes; ++other)
        if (!isOne(node) && isOne(other))
          sum += apart[node][other];
    }
    return sum;
  }
};

TEST(MinCut, IsAsCheapAsTheBestOfAllAnswers) {
  std::mt19937 random(18);
  auto draw = [&](int below) {
    return static_cast<double>(random() % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 200; ++round) {
    Problem problem{2 + random() % 7, {}, {}};
    MinCut cut(problem.nodes);
    for (size_t node = 0; node < problem.nodes; ++node) {
      problem.own.push_back({draw(9), draw(9)});
      cut.price(node, problem.own[node].first, problem.own[node].second);
      problem.apart.emplace_back(problem.nodes);
      for (size_t other = 0; other < problem.nodes; ++other)
        if (other != node && random() % 3 == 0) {
          problem.apart[node][other] = draw(7);
          cut.priceIfApart(node, other, problem.apart[node][other]);
        }
    }
    unsigned found = 0;
    const std::vector<bool> answers = cut.solve();
    for (size_t node = 0; node < problem.nodes; ++node)
      found |= (answers[node] ? 1u : 0u) << node;
    double least = problem.priceOf(0);
    for (unsigned all = 1; all < 1u << problem.nodes; ++all)
      least = std::min(least, problem.priceOf(all));
    EXPECT_EQ(problem.priceOf(found), least) << "round " << round;
  }
}

TEST(MinCut, ManyNodesShareThePriceOfBeingApartFromOne) {
  auto solve = [](double ofOne, double ofZero) {
    MinCut cut(3);
    cut.price(0, 0, 100);
    cut.price(1, 4, 0);
    cut.price(2, 4, 0);
    cut.priceIfAnyApart(0, {1, 2}, ofOne, ofZero);
    std::vector<bool> answers = cut.solve();
    answers.resize(3); // without the node that stands for any of both
    return answers;
  };
  // Both pay 4 to stay with node 0, or together 7 to leave it.
  EXPECT_EQ(solve(7, 0), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(solve(9, 0), (std::vector<bool>{false, false, false}));
}

} // namespace
} // namespace tilewright::distribute
