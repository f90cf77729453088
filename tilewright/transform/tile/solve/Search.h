// Search: one choice for each variable, at the least sum of costs. Knows nothing of layouts.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace tilewright::solve {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Variables with costs of their values, and edges with a cost for each pair of values;
/// `impossible` forbids.
struct ChoiceProblem {
  struct Edge {
    unsigned a, b;
    /// `cost[i * values(b) + j]` where a takes its value i and b its value j.
    std::vector<double> cost;
  };
  std::vector<std::vector<double>> values;
  std::vector<Edge> edges;

  unsigned addVariable(std::vector<double> costs) {
    values.push_back(std::move(costs));
    return static_cast<unsigned>(values.size() - 1);
  }
};

struct ChoiceSolution {
  std::vector<unsigned> choice;
  double cost = 0;
  size_t components = 0;
  /// Entries of all tables that were filled: what the search took, whatever the machine.
  size_t steps = 0;
};

/// The choices of least cost; nothing if no choice is possible. Components of the graph are solved
/// one by one. In each, variables are eliminated in order of the tables that this takes (dynamic
/// programming, as along a tree); where a table would become too large, the values of the variable
/// with most neighbours are tried in turn, and those that cannot beat the best so far are left
/// (branch and bound). Exact either way, and the same for the same problem.
std::optional<ChoiceSolution> solveChoices(const ChoiceProblem &problem);

/// A smallest set of variables that admits no choice, in that each one less admits one. Empty if
/// the problem has a solution.
std::vector<unsigned> smallestContradiction(const ChoiceProblem &problem);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H
