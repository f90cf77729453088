#include "tilewright/plan/Uniform.h"

#include <algorithm>
#include <map>

namespace tilewright::collective {

std::vector<std::vector<PlanIndex>> sitesByCollective(const ProgramTree &tree) {
  std::map<uint32_t, std::vector<PlanIndex>> byNumber;
  for (PlanIndex i = 0; i < tree.plan.sites.size(); ++i)
    if (!tree.isDead(tree.pathOf(tree.plan.sites[i])))
      byNumber[tree.plan.sites[i].collectiveId].push_back(i);
  std::vector<std::vector<PlanIndex>> collectives;
  for (auto &[number, sites] : byNumber)
    collectives.push_back(std::move(sites));
  return collectives;
}

std::vector<Choice> choicesTo(const ProgramTree &tree, PlanIndex site, int64_t rank) {
  std::vector<Choice> choices;
  for (const auto &[number, arm] : tree.pathOf(tree.plan.sites[site])) {
    const Guard &guard = tree.plan.guards[number];
    if (!guard.isKnown())
      // One iteration of a loop runs both its condition and its body.
      choices.push_back({number,
                         {},
                         static_cast<uint32_t>(tree.coordinates.along(guard.varies, rank)),
                         guard.kind == Guard::Kind::loop ? 1 : arm});
  }
  return choices;
}

namespace {

/// The sites of one exchange, and the common part of their paths.
class CollectiveSites {
public:
  CollectiveSites(const ProgramTree &tree, const std::vector<PlanIndex> &sites)
      : tree(tree), sites(sites) {
    for (PlanIndex site : sites)
      paths.push_back(tree.pathOf(tree.plan.sites[site]));
    common = paths.front().size();
    for (const ProgramTree::Path &path : paths) {
      size_t same = 0;
      while (same < common && same < path.size() && path[same] == paths.front()[same])
        ++same;
      common = same;
    }
  }

  std::optional<Counterexample> findUneven() const {
    const CliqueSpec &clique = tree.plan.cliques[tree.plan.sites[sites.front()].clique];
    if (isEvenByAxes(clique))
      return std::nullopt;
    std::optional<Counterexample> missed;
    for (const std::vector<int64_t> &group : groupsOf(tree.coordinates, clique))
      if (group.size() > 1)
        if (std::optional<Counterexample> found = findUneven(group)) {
          if (found->reason == Counterexample::Reason::varies)
            return found;
          if (!missed)
            missed = std::move(found);
        }
    return missed;
  }

private:
  bool isUnknown(PlanIndex guard) const { return !tree.plan.guards[guard].isKnown(); }

  /// A fast check that does not enumerate ranks. It holds if there is one site, every rank reaches
  /// it, and no run-time choice on its path varies along an axis of the clique.
  bool isEvenByAxes(const CliqueSpec &clique) const {
    if (clique.form != CliqueSpec::Form::axes || sites.size() > 1 || tree.dependsOnRank(paths[0]))
      return false;
    AxisSet axes = 0;
    for (uint8_t axis : clique.axes)
      axes |= AxisSet(1) << axis;
    return std::none_of(paths[0].begin(), paths[0].end(), [&](const auto &step) {
      return isUnknown(step.first) && (tree.plan.guards[step.first].varies & axes);
    });
  }

  /// Index of the site at which a rank reaches the exchange, if its run-time choices lead there;
  /// sites.size() if it cannot reach the exchange.
  size_t placeOf(int64_t rank) const {
    for (size_t i = 0; i < sites.size(); ++i)
      if (tree.takes(rank, paths[i]))
        return i;
    return sites.size();
  }

  std::optional<Counterexample> findUneven(const std::vector<int64_t> &group) const {
    std::vector<size_t> places;
    for (int64_t rank : group)
      places.push_back(placeOf(rank));
    const auto comes = std::find_if(places.begin(), places.end(),
                                    [&](size_t place) { return place < sites.size(); });
    if (comes == places.end())
      return std::nullopt;
    const auto here = static_cast<size_t>(comes - places.begin());
    for (size_t i = 0; i < group.size(); ++i)
      if (places[i] == sites.size())
        return lonely(Counterexample::Reason::missed, group[here], sites[places[here]], group[i]);
    // Check the run-time choices on the common path, and those on the rest of each site's path.
    for (size_t a = 0; a < group.size(); ++a) {
      const ProgramTree::Path &path = paths[places[a]];
      for (size_t i = a == here ? 0 : common; i < path.size(); ++i) {
        if (!isUnknown(path[i].first))
          continue;
        for (size_t b = 0; b < group.size(); ++b)
          if (i >= common && places[b] != places[a])
            return alone(group[b], sites[places[b]], group[a], path[i].first, path[i].second);
          else if (along(path[i].first, group[a]) != along(path[i].first, group[b]))
            return alone(group[a], sites[places[a]], group[b], path[i].first, path[i].second);
      }
    }
    return std::nullopt;
  }

  uint32_t along(PlanIndex guard, int64_t rank) const {
    return static_cast<uint32_t>(tree.coordinates.along(tree.plan.guards[guard].varies, rank));
  }

  Counterexample lonely(Counterexample::Reason reason, int64_t rank, PlanIndex site,
                        int64_t absent) const {
    return {reason, {{rank, site, {}, absent}}, choicesTo(tree, site, rank)};
  }

  /// A counterexample in which `rank` reaches the exchange, but `absent` does not, because it
  /// chooses differently at `guard`.
  Counterexample alone(int64_t rank, PlanIndex site, int64_t absent, PlanIndex guard,
                       uint32_t arm) const {
    Counterexample result = lonely(Counterexample::Reason::varies, rank, site, absent);
    const bool isLoop = tree.plan.guards[guard].kind == Guard::Kind::loop;
    result.choices.push_back({guard, {}, along(guard, absent), isLoop || arm != 0 ? 0u : 1u});
    return result;
  }

  const ProgramTree &tree;
  const std::vector<PlanIndex> &sites;
  std::vector<ProgramTree::Path> paths;
  size_t common; // steps that all paths share
};

} // namespace

std::optional<Counterexample> findUneven(const ProgramTree &tree,
                                         const std::vector<std::vector<PlanIndex>> &collectives) {
  std::optional<Counterexample> missed;
  for (const std::vector<PlanIndex> &sites : collectives)
    if (std::optional<Counterexample> found = CollectiveSites(tree, sites).findUneven()) {
      if (found->reason == Counterexample::Reason::varies)
        return found;
      if (!missed)
        missed = std::move(found);
    }
  return missed;
}

} // namespace tilewright::collective
