#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

using namespace tilewright;
using namespace tilewright::distribute;
using numerics::AxisRef;
using numerics::MeshCoordinates;

namespace {

std::shared_ptr<const MeshCoordinates> meshOf(std::vector<numerics::MeshAxis> axes) {
  return std::make_shared<const MeshCoordinates>(
      *MeshCoordinates::create(std::move(axes), /*order=*/{}));
}

/// Where the prime factors of a mesh's axes are: in the list of a dimension, or unreduced;
/// otherwise replicated.
struct State {
  std::vector<std::vector<size_t>> dims;
  std::vector<bool> isOpen;
  bool operator==(const State &) const = default;
};

/// Every sequence of exchanges between all states of small meshes, with every exchange decided by
/// comparing two states. It shares nothing with the search of planReshard().
class Exhaustive {
public:
  Exhaustive(std::vector<int64_t> sizes, std::vector<int64_t> shape, bool mayOpen)
      : sizes(std::move(sizes)), shape(std::move(shape)) {
    State state{std::vector<std::vector<size_t>>(this->shape.size()),
                std::vector<bool>(this->sizes.size())};
    enumerate(state, 0, mayOpen);
  }

  const std::vector<State> &all() const { return states; }
  std::vector<uint32_t> inUse, open; // the factors of each state that divide or are unreduced

  /// The least wire, in elements, from one state to every other; then the fewest exchanges. The
  /// factors in `idle` stay replicated, those in `opening` may become unreduced.
  std::vector<std::pair<double, int>> from(size_t start, uint32_t idle, uint32_t opening) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::pair<double, int>> best(states.size(), {infinity, 0});
    std::vector<bool> isDone(states.size());
    best[start] = {0, 0};
    for (size_t round = 0; round < states.size(); ++round) {
      size_t nearest = states.size();
      for (size_t i = 0; i < states.size(); ++i)
        if (!isDone[i] && (nearest == states.size() || best[i] < best[nearest]))
          nearest = i;
      isDone[nearest] = true;
      for (size_t next = 0; next < states.size(); ++next)
        if (!isDone[next] && (inUse[next] & idle) == 0 &&
            (open[next] & ~open[nearest] & ~opening) == 0)
          if (const std::optional<double> &step = edges[nearest * states.size() + next])
            best[next] = std::min(best[next], {best[nearest].first + *step,
                                               best[nearest].second + (*step > 0 ? 1 : 0)});
    }
    return best;
  }

  void connect() {
    edges.resize(states.size() * states.size());
    for (size_t i = 0; i < states.size(); ++i)
      for (size_t j = 0; j < states.size(); ++j)
        edges[i * states.size() + j] = i == j ? std::nullopt : priceOf(states[i], states[j]);
  }

private:
  /// Places factor after factor: each is replicated, unreduced, or at any place of a dimension.
  void enumerate(State &state, size_t next, bool mayOpen) {
    if (next == sizes.size()) {
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (shape[dim] % countOf(state.dims[dim]) != 0)
          return;
      states.push_back(state);
      uint32_t openFactors = 0, used = 0;
      for (size_t factor = 0; factor < sizes.size(); ++factor)
        openFactors |= uint32_t(state.isOpen[factor]) << factor;
      used = openFactors;
      for (const auto &list : state.dims)
        for (size_t factor : list)
          used |= 1U << factor;
      open.push_back(openFactors);
      inUse.push_back(used);
      return;
    }
    enumerate(state, next + 1, mayOpen);
    if (mayOpen) {
      state.isOpen[next] = true;
      enumerate(state, next + 1, mayOpen);
      state.isOpen[next] = false;
    }
    for (size_t dim = 0; dim < state.dims.size(); ++dim)
      for (size_t at = 0; at <= state.dims[dim].size(); ++at) {
        auto &list = state.dims[dim];
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), next);
        enumerate(state, next + 1, mayOpen);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      }
  }

  int64_t countOf(const std::vector<size_t> &factors) const {
    int64_t count = 1;
    for (size_t factor : factors)
      count *= sizes[factor];
    return count;
  }
  double elementsOf(const State &state) const {
    double elements = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      elements *= static_cast<double>(shape[dim] / countOf(state.dims[dim]));
    return elements;
  }

  /// The elements that one exchange from one state to another sends; nullopt if it takes more than
  /// one.
  std::optional<double> priceOf(const State &one, const State &two) const {
    std::vector<size_t> lost, gained, opened, closed; // factors
    bool isPrefix = true, isBoth = false, isSameCount = true;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const auto &before = one.dims[dim], &after = two.dims[dim];
      isSameCount &= countOf(before) == countOf(after);
      const size_t shared = std::min(before.size(), after.size());
      isPrefix &= std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shared),
                             after.begin());
      lost.insert(lost.end(), before.begin() + static_cast<std::ptrdiff_t>(shared), before.end());
      gained.insert(gained.end(), after.begin() + static_cast<std::ptrdiff_t>(shared), after.end());
    }
    int64_t openBefore = 1, openAfter = 1;
    for (size_t factor = 0; factor < sizes.size(); ++factor) {
      if (one.isOpen[factor])
        openBefore *= sizes[factor];
      if (two.isOpen[factor])
        openAfter *= sizes[factor];
      if (one.isOpen[factor] && !two.isOpen[factor])
        closed.push_back(factor);
      if (!one.isOpen[factor] && two.isOpen[factor])
        opened.push_back(factor);
    }
    std::sort(lost.begin(), lost.end());
    std::sort(gained.begin(), gained.end());
    isBoth = lost == gained;
    const double elements = elementsOf(one);
    std::optional<double> best;
    auto offer = [&](double price) { best = best ? std::min(*best, price) : price; };
    if (isPrefix && opened.empty() && closed.empty()) {
      const auto n = static_cast<double>(countOf(lost));
      if (lost.empty())
        offer(0); // slice
      else if (gained.empty())
        offer(elements * (n - 1)); // all-gather
      else if (isBoth)
        offer(elements * (n - 1) / n); // all-to-all
    }
    if (isPrefix && !opened.empty() && closed.empty() && gained.empty() &&
        std::includes(opened.begin(), opened.end(), lost.begin(), lost.end()))
      offer(0); // open
    if (isPrefix && opened.empty() && !closed.empty() && lost.empty()) {
      const auto n = static_cast<double>(countOf(closed));
      if (gained.empty())
        offer(2 * elements * (n - 1) / n); // all-reduce
      else if (gained == closed)
        offer(elements * (n - 1) / n); // reduce-scatter
    }
    if (isSameCount && openBefore == openAfter)
      offer(elements); // permute
    return best;
  }

  std::vector<int64_t> sizes, shape;
  std::vector<State> states;
  std::vector<std::optional<double>> edges;
};

struct Gap {
  size_t pairs = 0, worse = 0, better = 0, longer = 0;
  double worst = 1;
  std::string example;
};

struct Case {
  std::vector<numerics::MeshAxis> axes;
  Axes factors;
  std::vector<int64_t> shape;
  bool mayOpen;
  size_t every = 1;
};

/// Compares planReshard() with the optimum for every pair of shardings of a tensor of `shape`.
/// `isFree`: with an optimum that uses idle axes too.
Gap compare(const Case &c, bool isFree) {
  const auto &[axes, factors, shape, mayOpen, every] = c;
  std::shared_ptr<const MeshCoordinates> mesh = meshOf(axes);
  std::vector<int64_t> sizes;
  for (const AxisRef &factor : factors)
    sizes.push_back(factor.size);
  Exhaustive optimum(sizes, shape, mayOpen);
  optimum.connect();
  auto shardingOf = [&](const State &state) {
    Sharding sharding{mesh, {}, {}};
    for (const auto &list : state.dims) {
      Axes dim;
      for (size_t factor : list)
        dim.push_back(factors[factor]);
      sharding.dims.push_back(merged(dim));
    }
    for (size_t factor = 0; factor < factors.size(); ++factor)
      if (state.isOpen[factor])
        sharding.unreduced.push_back(factors[factor]);
    sharding.unreduced = ordered(sharding.unreduced);
    return sharding;
  };
  Gap gap;
  const auto &states = optimum.all();
  for (size_t i = 0; i < states.size(); i += every) {
    std::map<std::pair<uint32_t, uint32_t>, std::vector<std::pair<double, int>>> known;
    for (size_t j = 0; j < states.size(); ++j) {
      const std::pair<uint32_t, uint32_t> key(isFree ? 0 : ~(optimum.inUse[i] | optimum.inUse[j]),
                                              isFree ? ~0U : optimum.open[j]);
      auto [found, isNew] = known.try_emplace(key);
      if (isNew)
        found->second = optimum.from(i, key.first, key.second);
      const std::vector<std::pair<double, int>> &best = found->second;
      const Sharding from = shardingOf(states[i]), to = shardingOf(states[j]);
      const std::vector<Exchange> plan = planReshard(from, to, shape, /*elementBytes=*/1);
      EXPECT_TRUE(plan.empty() ? from == to : plan.back().to == to && plan.front().from == from)
          << from.toString() << " to " << to.toString() << ": " << toString(plan);
      const double wire = wireBytes(plan);
      ++gap.pairs;
      if (wire < best[j].first - 1e-6) {
        ++gap.better;
        gap.example = concat(from.toString(), " to ", to.toString(), ": ", toString(plan), " (",
                             wire, " instead of ", best[j].first, ")");
      }
      if (wire > best[j].first + 1e-6) {
        ++gap.worse;
        if (wire / best[j].first > gap.worst) {
          gap.worst = wire / best[j].first;
          gap.example = concat(from.toString(), " to ", to.toString(), ": ", toString(plan), " (",
                               wire, " instead of ", best[j].first, ")");
        }
      } else if (std::count_if(plan.begin(), plan.end(), [](const Exchange &e) {
                   return e.wireBytes > 0;
                 }) > best[j].second) {
        ++gap.longer;
      }
    }
  }
  return gap;
}

TEST(Reshard, SendsAsLittleAsTheOptimumOnSmallMeshes) {
  const Case cases[] = {
      {{{"x", 2}, {"y", 2}}, {{0, 1, 2}, {1, 1, 2}}, {8, 8, 8}, true},
      {{{"x", 2}, {"y", 3}}, {{0, 1, 2}, {1, 1, 3}}, {12, 36}, true},
      {{{"x", 6}}, {{0, 1, 3}, {0, 3, 2}}, {6, 12, 2}, true},
      {{{"x", 7}}, {{0, 1, 7}}, {7, 14}, true},
      {{{"x", 8}}, {{0, 1, 2}, {0, 2, 2}, {0, 4, 2}}, {8, 16}, true, 11},
      {{{"x", 2}, {"y", 4}}, {{0, 1, 2}, {1, 1, 2}, {1, 2, 2}}, {16, 8, 8}, false, 13},
      {{{"x", 4}, {"y", 2}}, {{0, 1, 2}, {0, 2, 2}, {1, 1, 2}}, {2, 8, 4}, true, 17},
      {{{"x", 2}, {"y", 2}, {"z", 2}}, {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}}, {8, 8, 8}, true, 60},
  };
  for (const Case &c : cases) {
    const Gap gap = compare(c, /*isFree=*/false);
    EXPECT_GT(gap.pairs, 0U);
    EXPECT_EQ(gap.worse + gap.better + gap.longer, 0U) << gap.example;
  }
}

/// The optimum that may also divide along axes in which both shardings are replicated, or turn a
/// shard into a term of a sum to move it, sends less for some pairs: an all-reduce that replicas
/// share and then gather, for example. planReshard() leaves such axes alone, because that takes
/// more exchanges.
TEST(Reshard, SendsMoreThanAnOptimumThatUsesIdleAxes) {
  const Case wide{
      {{"x", 2}, {"y", 4}}, {{0, 1, 2}, {1, 1, 2}, {1, 2, 2}}, {16, 16}, /*mayOpen=*/true, 9};
  const Gap gap = compare(wide, /*isFree=*/true);
  EXPECT_EQ(gap.better, 0U) << gap.example;
  EXPECT_GT(gap.worse, 0U);
  EXPECT_LE(gap.worst, 1.5) << gap.example;
  EXPECT_LT(static_cast<double>(gap.worse), 0.08 * static_cast<double>(gap.pairs));
}

class Plans : public testing::Test {
protected:
  std::shared_ptr<const MeshCoordinates> mesh = meshOf({{"x", 4}, {"y", 2}, {"z", 6}});
  const Axes x = {{0, 1, 4}}, y = {{1, 1, 2}}, z = {{2, 1, 6}};

  Sharding sharding(std::vector<Axes> dims, Axes unreduced = {}) const {
    return {mesh, std::move(dims), std::move(unreduced)};
  }
  static std::string plan(const Sharding &from, const Sharding &to,
                          const std::vector<int64_t> &shape) {
    const std::vector<Exchange> exchanges = planReshard(from, to, shape, /*elementBytes=*/4);
    return concat(toString(exchanges), " = ", wireBytes(exchanges));
  }
};

TEST_F(Plans, MovesAnAxisToAnotherDimensionByOneAllToAll) {
  EXPECT_EQ(plan(sharding({x, {}}), sharding({{}, x}), {64, 32}),
            "all-to-all {x} -> [{}, {x}] = 1536");
}

TEST_F(Plans, PermutesTheSmallerShardsBeforeItGathers) {
  EXPECT_EQ(plan(sharding({x, {}}), sharding({y, {}}), {64, 32}),
            "permute {x:(1)2, y} -> [{y, x:(2)2}, {}]; all-gather {x:(2)2} -> [{y}, {}] = 4096");
}

TEST_F(Plans, ReducesByWhatTheTargetWants) {
  const std::vector<int64_t> shape = {64, 32};
  EXPECT_EQ(plan(sharding({{}, {}}, x), sharding({{}, {}}), shape),
            "all-reduce {x} -> replicated = 12288");
  EXPECT_EQ(plan(sharding({{}, {}}, x), sharding({x, {}}), shape),
            "reduce-scatter {x} -> [{x}, {}] = 6144");
  EXPECT_EQ(plan(sharding({{}, {}}, x), sharding({y, {}}), shape),
            "slice {y} -> [{y}, {}] unreduced {x}; all-reduce {x} -> [{y}, {}] = 6144");
  EXPECT_EQ(plan(sharding({{}, {}}), sharding({{}, {}}, x), shape),
            "open {x} -> [{}, {}] unreduced {x} = 0");
}

TEST_F(Plans, ReducesTermsBeforeOthersAreOpened) {
  Sharding maxima = sharding({{}}, x), sums = sharding({{}}, y);
  maxima.combine = "stablehlo.maximum";
  EXPECT_EQ(plan(maxima, sums, {8}),
            "all-reduce {x} -> replicated; open {y} -> [{}] unreduced {y} = 48");
}

TEST_F(Plans, LeavesAnAxisThatTheTwoShardingsFactorDifferently) {
  EXPECT_EQ(plan(sharding({{{2, 1, 2}}}), sharding({{{2, 1, 3}}}), {12}),
            "all-gather {z:(1)2} -> replicated; slice {z:(1)3} -> [{z:(1)3}] = 24");
}

TEST_F(Plans, GathersBetweenMeshes) {
  const Sharding other{meshOf({{"all", 48}}), {{{0, 1, 2}}}, {}};
  EXPECT_EQ(plan(sharding({y}), other, {8}),
            "all-gather {y} -> replicated; slice {all:(1)2} -> [{all:(1)2}] = 16");
}

TEST_F(Plans, GathersBetweenShardsOfDifferentPadding) {
  EXPECT_EQ(plan(sharding({y}), sharding({x}), {10}),
            "all-gather {y} -> replicated; slice {x} -> [{x}] = 20");
  // 12 elements both times.
  EXPECT_EQ(plan(sharding({y}), sharding({{y[0], {0, 1, 2}}}), {11}),
            "slice {x:(1)2} -> [{y, x:(1)2}] = 0");
}

TEST_F(Plans, NeedsNothingForEqualShardings) {
  EXPECT_EQ(plan(Sharding(), sharding({{}, {}}), {4, 4}), " = 0");
  EXPECT_EQ(plan(sharding({{}}, {x[0], y[0]}), sharding({{}}, {y[0], x[0]}), {4}), " = 0");
}

/// Too many factors for a search: the plan is right, though not the cheapest.
TEST(Reshard, EndsForMeshesOfManyAxes) {
  std::vector<numerics::MeshAxis> axes;
  Axes all;
  for (size_t i = 0; i < 10; ++i) {
    axes.push_back({concat("a", i), 2});
    all.push_back({i, 1, 2});
  }
  std::shared_ptr<const MeshCoordinates> mesh = meshOf(axes);
  const Axes reversed(all.rbegin(), all.rend());
  const Sharding from{mesh, {all, {}, {}}, {}}, to{mesh, {{}, {}, reversed}, {}};
  const std::vector<int64_t> shape = {1024, 1024, 1024};
  const std::vector<Exchange> plan = planReshard(from, to, shape, 4);
  ASSERT_FALSE(plan.empty());
  EXPECT_TRUE(plan.back().to == to);
}

TEST(Reshard, FindsPlansBetweenRandomShardingsOfFiveAxes) {
  std::mt19937 random(5);
  std::shared_ptr<const MeshCoordinates> mesh =
      meshOf({{"a", 8}, {"b", 4}, {"c", 4}, {"d", 8}, {"e", 2}});
  auto draw = [&] {
    Sharding sharding{mesh, std::vector<Axes>(3), {}};
    std::vector<size_t> axes = {0, 1, 2, 3, 4};
    std::shuffle(axes.begin(), axes.end(), random);
    for (size_t axis : axes) {
      const AxisRef ref{axis, 1, mesh->mesh().axes[axis].size};
      const size_t place = random() % 6;
      if (place < 3)
        sharding.dims[place].push_back(ref);
      else if (place == 3)
        sharding.unreduced.push_back(ref);
    }
    sharding.unreduced = ordered(sharding.unreduced);
    return sharding;
  };
  const std::vector<int64_t> shape = {4096, 4096, 4096};
  for (int i = 0; i < 25; ++i) {
    const Sharding from = draw(), to = draw();
    Sharding closed = from;
    closed.unreduced.clear();
    // Reduce, gather, slice.
    const double limit = wireBytes(planReshard(from, closed, shape, /*elementBytes=*/1)) +
                         wireBytes(planReshard(closed, Sharding(), shape, /*elementBytes=*/1));
    Sharding at = from;
    const std::vector<Exchange> plan = planReshard(from, to, shape, /*elementBytes=*/1);
    for (const Exchange &exchange : plan) {
      EXPECT_TRUE(exchange.from == at);
      at = exchange.to;
    }
    EXPECT_TRUE(at == to) << from.toString() << " to " << to.toString() << ": " << toString(plan);
    EXPECT_LE(wireBytes(plan), limit);
  }
}

} // namespace
