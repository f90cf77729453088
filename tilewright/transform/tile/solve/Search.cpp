#include "tilewright/transform/tile/solve/Search.h"

#include "tilewright/support/WorkLimit.h"

#include <algorithm>
#include <numeric>

using namespace tilewright::solve;

namespace {

/// The maximum size of a table that elimination may fill. If every table would be larger, the
/// search branches.
constexpr size_t largestTable = size_t(1) << 18;

/// A function of some variables, as a table in mixed radix; the first variable varies slowest.
struct Factor {
  std::vector<unsigned> scope;
  std::vector<double> table;
};

/// One connected component, with fixed values for the variables that were branched on.
class Component {
public:
  Component(const ChoiceProblem &problem, std::vector<Factor> factors,
            std::vector<unsigned> variables, size_t &steps)
      : problem(problem), factors(std::move(factors)), variables(std::move(variables)),
        steps(steps) {}

  /// Returns the minimum cost below `bound` and sets `choice`; returns `impossible` if there is no
  /// such choice.
  double solve(std::vector<unsigned> &choice, double bound) {
    struct Eliminated {
      unsigned variable;
      std::vector<unsigned> scope; // the other variables of its factors
      std::vector<unsigned> best;  // its best value for each of their assignments
    };
    std::vector<Eliminated> order;
    std::vector<unsigned> left = variables;
    double constant = 0;
    while (!left.empty()) {
      // The caller must check the work limit too before it concludes that there is no solution.
      if (tilewright::WorkLimit::mustStop())
        return impossible;
      auto [position, size] = cheapest(left);
      if (size > largestTable)
        return branch(
            left, choice, bound,
            [&](std::vector<unsigned> &chosen) {
              for (size_t i = order.size(); i-- > 0;)
                chosen[order[i].variable] = order[i].best[indexOf(order[i].scope, chosen)];
            },
            constant);
      const unsigned variable = left[position];
      left.erase(left.begin() + static_cast<ptrdiff_t>(position));
      Eliminated entry{variable, neighbours(variable), {}};
      Factor result = eliminate(variable, entry.scope, entry.best);
      if (result.scope.empty())
        constant += result.table[0];
      else
        factors.push_back(std::move(result));
      order.push_back(std::move(entry));
    }
    if (!(constant < bound))
      return impossible;
    for (size_t i = order.size(); i-- > 0;)
      choice[order[i].variable] = order[i].best[indexOf(order[i].scope, choice)];
    return constant;
  }

private:
  size_t valuesOf(unsigned variable) const { return problem.values[variable].size(); }

  std::vector<unsigned> neighbours(unsigned variable) const {
    std::vector<unsigned> found;
    for (const Factor &factor : factors)
      if (std::find(factor.scope.begin(), factor.scope.end(), variable) != factor.scope.end())
        found.insert(found.end(), factor.scope.begin(), factor.scope.end());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    found.erase(std::remove(found.begin(), found.end(), variable), found.end());
    return found;
  }

  /// The position of the variable whose elimination fills the smallest table, and the size of that
  /// table.
  std::pair<size_t, size_t> cheapest(const std::vector<unsigned> &left) const {
    size_t best = 0, bestSize = std::numeric_limits<size_t>::max();
    for (size_t i = 0; i < left.size(); ++i) {
      size_t size = valuesOf(left[i]);
      for (unsigned other : neighbours(left[i]))
        size = std::min(size * valuesOf(other), largestTable + 1);
      if (size < bestSize)
        best = i, bestSize = size;
    }
    return {best, bestSize};
  }

  size_t indexOf(const std::vector<unsigned> &scope, const std::vector<unsigned> &choice) const {
    size_t index = 0;
    for (unsigned variable : scope)
      index = index * valuesOf(variable) + choice[variable];
    return index;
  }

  /// Replaces all factors of the variable by one factor: their sum, minimized over the variable's
  /// values.
  Factor eliminate(unsigned variable, const std::vector<unsigned> &scope,
                   std::vector<unsigned> &best) {
    std::vector<Factor> mine;
    for (size_t i = 0; i < factors.size();) {
      if (std::find(factors[i].scope.begin(), factors[i].scope.end(), variable) ==
          factors[i].scope.end()) {
        ++i;
        continue;
      }
      mine.push_back(std::move(factors[i]));
      factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
    }
    size_t size = 1;
    for (unsigned other : scope)
      size *= valuesOf(other);
    Factor result{scope, std::vector<double>(size, impossible)};
    best.assign(size, 0);
    std::vector<unsigned> choice(problem.values.size(), 0);
    for (size_t entry = 0; entry < size; ++entry) {
      size_t rest = entry;
      for (size_t i = scope.size(); i-- > 0; rest /= valuesOf(scope[i]))
        choice[scope[i]] = static_cast<unsigned>(rest % valuesOf(scope[i]));
      for (unsigned value = 0; value < valuesOf(variable); ++value, ++steps) {
        choice[variable] = value;
        double sum = 0;
        for (const Factor &factor : mine)
          sum += factor.table[indexOf(factor.scope, choice)];
        if (sum < result.table[entry])
          result.table[entry] = sum, best[entry] = value;
      }
    }
    return result;
  }

  /// Branches on the variable with the most neighbours.
  template <typename Complete>
  double branch(const std::vector<unsigned> &left, std::vector<unsigned> &choice, double bound,
                Complete complete, double constant) {
    unsigned pivot = left[0];
    size_t most = 0;
    for (unsigned variable : left)
      if (size_t count = neighbours(variable).size(); count > most)
        pivot = variable, most = count;
    double best = bound - constant;
    bool found = false;
    for (unsigned value = 0; value < valuesOf(pivot); ++value) {
      std::vector<Factor> fixed;
      for (const Factor &factor : factors)
        fixed.push_back(restrict(factor, pivot, value));
      std::vector<unsigned> others;
      for (unsigned variable : left)
        if (variable != pivot)
          others.push_back(variable);
      // Factors without variables are the cost of the values fixed so far.
      double base = 0;
      for (size_t i = 0; i < fixed.size();) {
        if (!fixed[i].scope.empty()) {
          ++i;
          continue;
        }
        base += fixed[i].table[0];
        fixed.erase(fixed.begin() + static_cast<ptrdiff_t>(i));
      }
      if (!(base < best))
        continue;
      std::vector<unsigned> tried = choice;
      tried[pivot] = value;
      const double rest =
          Component(problem, std::move(fixed), others, steps).solve(tried, best - base);
      if (base + rest < best) {
        best = base + rest;
        choice = tried;
        found = true;
      }
    }
    if (!found)
      return impossible;
    complete(choice);
    return constant + best;
  }

  Factor restrict(const Factor &factor, unsigned variable, unsigned value) const {
    auto at = std::find(factor.scope.begin(), factor.scope.end(), variable);
    if (at == factor.scope.end())
      return factor;
    Factor result{factor.scope, {}};
    const auto position = static_cast<size_t>(at - factor.scope.begin());
    result.scope.erase(result.scope.begin() + static_cast<ptrdiff_t>(position));
    size_t inner = 1;
    for (size_t i = position + 1; i < factor.scope.size(); ++i)
      inner *= valuesOf(factor.scope[i]);
    for (size_t i = 0; i < factor.table.size(); ++i)
      if (i / inner % valuesOf(variable) == value)
        result.table.push_back(factor.table[i]);
    return result;
  }

  const ChoiceProblem &problem;
  std::vector<Factor> factors;
  std::vector<unsigned> variables;
  size_t &steps;
};

/// The connected component of each variable, identified by the component's smallest variable.
std::vector<unsigned> componentsOf(const ChoiceProblem &problem) {
  std::vector<unsigned> parent(problem.values.size());
  std::iota(parent.begin(), parent.end(), 0U);
  auto find = [&](unsigned variable) {
    while (parent[variable] != variable)
      variable = parent[variable] = parent[parent[variable]];
    return variable;
  };
  for (const ChoiceProblem::Edge &edge : problem.edges) {
    const unsigned a = find(edge.a), b = find(edge.b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  for (unsigned i = 0; i < parent.size(); ++i)
    parent[i] = find(i);
  return parent;
}

/// Solves the problem restricted to the variables in `active`, each component separately.
std::optional<ChoiceSolution> solveAmong(const ChoiceProblem &problem,
                                         const std::vector<bool> &active) {
  const std::vector<unsigned> component = componentsOf(problem);
  std::vector<std::vector<unsigned>> members(problem.values.size());
  std::vector<std::vector<Factor>> factors(problem.values.size());
  for (unsigned i = 0; i < problem.values.size(); ++i)
    if (active[i]) {
      members[component[i]].push_back(i);
      factors[component[i]].push_back({{i}, problem.values[i]});
    }
  for (const ChoiceProblem::Edge &edge : problem.edges)
    if (active[edge.a] && active[edge.b])
      factors[component[edge.a]].push_back({{edge.a, edge.b}, edge.cost});
  ChoiceSolution solution;
  solution.choice.assign(problem.values.size(), 0);
  for (unsigned i = 0; i < problem.values.size(); ++i) {
    if (members[i].empty())
      continue;
    ++solution.components;
    const double cost = Component(problem, std::move(factors[i]), members[i], solution.steps)
                            .solve(solution.choice, impossible);
    if (cost == impossible)
      return std::nullopt;
    solution.cost += cost;
  }
  return solution;
}

} // namespace

std::optional<ChoiceSolution> tilewright::solve::solveChoices(const ChoiceProblem &problem) {
  return solveAmong(problem, std::vector<bool>(problem.values.size(), true));
}

std::vector<unsigned> tilewright::solve::smallestContradiction(const ChoiceProblem &problem) {
  std::vector<bool> active(problem.values.size(), true);
  if (solveAmong(problem, active))
    return {};
  // Drop each variable in turn, and keep only those without which the rest is solvable.
  for (size_t i = 0; i < active.size(); ++i) {
    active[i] = false;
    if (solveAmong(problem, active))
      active[i] = true;
  }
  std::vector<unsigned> core;
  for (unsigned i = 0; i < active.size(); ++i)
    if (active[i])
      core.push_back(i);
  return core;
}
