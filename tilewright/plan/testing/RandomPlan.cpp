#include "tilewright/plan/testing/RandomPlan.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tilewright::collective {
namespace {

class Maker {
public:
  explicit Maker(uint64_t seed) : random(seed) {}

  CommPlan make() {
    makeMesh();
    const size_t cliques = 1 + below(4);
    while (plan.cliques.size() < cliques)
      makeClique();
    budget = 6;
    fillArm(nothing, 0, /*depth=*/0);
    std::sort(plan.sites.begin(), plan.sites.end(),
              [](const Site &a, const Site &b) { return a.start < b.start; });
    return std::move(plan);
  }

private:
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); }
  bool chance(double part) { return std::uniform_real_distribution<>(0, 1)(random) < part; }

  void makeMesh() {
    static const std::vector<std::vector<int64_t>> shapes = {
        {2}, {3}, {4}, {2, 2}, {5}, {6}, {2, 3}, {3, 2}, {1, 3}, {2, 1, 2}};
    const std::vector<int64_t> &shape = shapes[below(shapes.size())];
    for (size_t i = 0; i < shape.size(); ++i)
      plan.mesh.axes.push_back({std::string(1, static_cast<char>('x' + i)), shape[i]});
    ranks = plan.mesh.size();
    if (chance(0.1)) {
      plan.mesh.order = shuffledRanks();
    }
  }

  std::vector<int64_t> shuffledRanks() {
    std::vector<int64_t> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    return all;
  }

  void makeClique() {
    CliqueSpec clique;
    const size_t form = below(10);
    if (form < 4) {
      for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
        if (chance(0.6))
          clique.axes.push_back(static_cast<uint8_t>(i));
      std::shuffle(clique.axes.begin(), clique.axes.end(), random);
    } else if (form < 8) {
      clique.form = CliqueSpec::Form::groups;
      for (int64_t rank : shuffledRanks()) {
        if (clique.lists.empty() || clique.lists.back().size() >= 2)
          clique.lists.emplace_back();
        if (chance(0.85))
          clique.lists.back().push_back(rank);
      }
      if (chance(0.4))
        clique.lists.resize(1);
    } else {
      clique.form = CliqueSpec::Form::pairs;
      const std::vector<int64_t> from = shuffledRanks(), to = shuffledRanks();
      const size_t pairs = below(static_cast<size_t>(ranks) + 1);
      for (size_t i = 0; i < pairs; ++i)
        clique.lists.push_back({from[i], to[i]});
    }
    if (std::find(plan.cliques.begin(), plan.cliques.end(), clique) == plan.cliques.end())
      plan.cliques.push_back(std::move(clique));
  }

  /// A new exchange, with the fields that all its sites share.
  Site makeCollective() {
    Site site;
    site.clique = static_cast<PlanIndex>(below(plan.cliques.size()));
    site.kind =
        plan.cliques[site.clique].form == CliqueSpec::Form::pairs ? Kind::permute : Kind::allReduce;
    site.lane = chance(0.3) ? 1 : 0;
    site.collectiveId = collectives++;
    return site;
  }

  /// Fills one arm with random sites and guards; the rank waits for each site immediately or some
  /// items later.
  void fillArm(PlanIndex guard, uint32_t arm, int depth) {
    const size_t things = 1 + below(3);
    std::vector<Site> open;
    auto finish = [&](size_t which) {
      open[which].done = position++;
      plan.sites.push_back(open[which]);
      open.erase(open.begin() + static_cast<ptrdiff_t>(which));
    };
    for (size_t i = 0; i < things && budget > 0; ++i) {
      if (depth < 3 && chance(depth == 0 ? 0.5 : 0.25)) {
        makeGuard(guard, arm, depth);
      } else {
        place(makeCollective(), guard, arm, open);
        --budget;
      }
      while (!open.empty() && chance(0.6))
        finish(below(open.size()));
    }
    while (!open.empty())
      finish(below(open.size()));
  }

  void place(Site site, PlanIndex guard, uint32_t arm, std::vector<Site> &open) {
    site.guard = guard;
    site.arm = arm;
    site.name = concat("c", site.collectiveId, ".", plan.sites.size() + open.size());
    site.location = concat("random.py:", 10 + site.collectiveId);
    site.start = position++;
    open.push_back(std::move(site));
  }

  AxisSet someAxes() {
    AxisSet axes = 0;
    for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
      if (chance(0.5))
        axes |= AxisSet(1) << i;
    return axes & plan.mesh.proper();
  }

  PlanIndex addGuard(PlanIndex parent, uint32_t arm, Guard guard) {
    guard.parent = parent;
    guard.arm = arm;
    guard.position = position++;
    guard.location = concat("random.py:", 100 + plan.guards.size());
    plan.guards.push_back(std::move(guard));
    return static_cast<PlanIndex>(plan.guards.size() - 1);
  }

  void makeGuard(PlanIndex parent, uint32_t arm, int depth) {
    const size_t what = below(10);
    if (what < 3) {
      Guard loop;
      loop.kind = Guard::Kind::loop;
      if (chance(0.6))
        loop.tripCount = static_cast<int64_t>(below(4));
      else
        loop.varies = chance(0.5) ? someAxes() : 0;
      const PlanIndex number = addGuard(parent, arm, loop);
      if (loop.tripCount < 0 && chance(0.15))
        fillArm(number, 0, depth + 1);
      fillArm(number, 1, depth + 1);
    } else if (what < 5) {
      Guard branch;
      branch.varies = chance(0.5) ? someAxes() : 0;
      branch.arms = static_cast<uint32_t>(1 + below(2) + (chance(0.1) ? 1 : 0));
      const PlanIndex number = addGuard(parent, arm, branch);
      for (uint32_t i = 0; i < branch.arms; ++i)
        if (chance(0.8))
          fillArm(number, i, depth + 1);
    } else {
      makeDecided(parent, arm, depth);
    }
  }

  /// Adds a rank-dependent branch with the same exchanges in all arms, usually in the same order.
  void makeDecided(PlanIndex parent, uint32_t arm, int depth) {
    Guard branch;
    branch.varies = chance(0.7) ? plan.mesh.proper() : someAxes();
    branch.arms = static_cast<uint32_t>(2 + below(2));
    size_t places = 1;
    for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
      if (branch.varies >> i & 1)
        places *= static_cast<size_t>(plan.mesh.axes[i].size);
    for (size_t i = 0; i < places; ++i)
      branch.choices.push_back(static_cast<uint32_t>(below(branch.arms)));
    const PlanIndex number = addGuard(parent, arm, branch);
    std::vector<Site> shared;
    for (size_t count = 1 + below(4); shared.size() < count && budget > 0; --budget)
      shared.push_back(makeCollective());
    for (uint32_t i = 0; i < branch.arms; ++i) {
      std::vector<Site> mine = shared;
      if (chance(0.25) && mine.size() > 1)
        std::swap(mine[below(mine.size())], mine[below(mine.size())]);
      if (chance(0.08) && !mine.empty())
        mine.erase(mine.begin() + static_cast<ptrdiff_t>(below(mine.size())));
      fillDecided(mine, number, i, depth);
    }
  }

  void fillDecided(const std::vector<Site> &mine, PlanIndex guard, uint32_t arm, int depth) {
    std::vector<Site> open;
    auto finish = [&](size_t which) {
      open[which].done = position++;
      plan.sites.push_back(open[which]);
      open.erase(open.begin() + static_cast<ptrdiff_t>(which));
    };
    const bool waitsAtOnce = chance(0.5);
    for (const Site &site : mine) {
      // Rarely, wrap the exchange in a loop or branch, or add an item that the other arms do not
      // have.
      if (depth < 2 && chance(0.06)) {
        Guard around;
        around.kind = chance(0.6) ? Guard::Kind::loop : Guard::Kind::branch;
        if (around.kind == Guard::Kind::loop && chance(0.7))
          around.tripCount = static_cast<int64_t>(1 + below(2));
        else
          around.varies = chance(0.5) ? someAxes() : 0;
        const PlanIndex number = addGuard(guard, arm, around);
        fillDecided({site}, number, 1, 2);
        continue;
      }
      if (budget > 0 && depth < 2 && chance(0.05))
        makeGuard(guard, arm, depth + 1);
      place(site, guard, arm, open);
      while (!open.empty() && (waitsAtOnce || chance(0.4)))
        finish(below(open.size()));
    }
    while (!open.empty())
      finish(below(open.size()));
  }

  std::mt19937_64 random;
  CommPlan plan;
  int64_t ranks = 1;
  uint32_t position = 0, collectives = 0;
  int budget = 0;
};

} // namespace

CommPlan randomPlan(uint64_t seed) { return Maker(seed).make(); }

} // namespace tilewright::collective
