// Search: chooses one value for each variable at minimum total cost. Independent of layouts.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace tilewright::solve {

constexpr double impossible = std::numeric_limits<double>::infinity();

/// Variables with a cost for each value, and edges with a cost for each pair of values. The cost
/// `impossible` forbids a value or pair.
struct ChoiceProblem {
  struct Edge {
    unsigned a, b;
    /// `cost[i * values(b) + j]` is the cost of value i for `a` together with value j for `b`.
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
  /// The number of table entries that were computed: a machine-independent measure of the work.
  size_t steps = 0;
};

/// The choice of minimum cost; nullopt if every choice is impossible. Connected components are
/// solved separately. Within a component, variables are eliminated in the order of table size
/// (dynamic programming, as on a tree). If a table would become too large, the search branches on
/// the variable with the most neighbours and prunes values that cannot beat the best solution so
/// far (branch and bound). Both methods are exact and deterministic.
std::optional<ChoiceSolution> solveChoices(const ChoiceProblem &problem);

/// A minimal unsatisfiable set of variables: removing any one of them makes the rest solvable.
/// Empty if the problem has a solution.
std::vector<unsigned> smallestContradiction(const ChoiceProblem &problem);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_SEARCH_H
