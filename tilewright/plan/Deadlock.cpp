// Explains a deadlock with as few ranks as possible.
#include "tilewright/plan/Instances.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tilewright::collective {

/// Every incomplete exchange that a rank has issued, with that rank, sorted by instance.
std::vector<std::pair<uint32_t, Instances::Issue>> Instances::issues() const {
  std::vector<std::pair<uint32_t, Issue>> all;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    for (size_t lane = 0; lane < lanes; ++lane) {
      const uint32_t *block = blockOf(rank);
      const uint32_t first = block[heads + lane];
      for (uint32_t slot = first; slot != none; slot = block[slotAt(slot) + next])
        all.push_back(
            {block[slotAt(slot) + instance], {rank, slot, block[slotAt(first) + instance]}});
    }
  std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
    return std::pair(a.first, a.second.rank) < std::pair(b.first, b.second.rank);
  });
  return all;
}

PlanIndex Instances::siteOf(const Issue &issue) const { return waitOf(issue, 0).site; }

Wait Instances::waitOf(const Issue &issue, int64_t forRank) const {
  const Unrolled::Event &begun =
      programOf(issue.rank).events[blockOf(issue.rank)[slotAt(issue.slot) + event]];
  return {issue.rank, begun.site, unroller.iterations(begun.iterations), forRank};
}

/// Adds the run-time choices that led a rank to an exchange.
void Instances::addChoices(Counterexample &result, const Issue &issue) const {
  const Wait wait = waitOf(issue, 0);
  size_t loops = 0;
  for (const auto &[number, arm] : tree.pathOf(tree.plan.sites[wait.site])) {
    const Guard &guard = tree.plan.guards[number];
    const bool isLoop = guard.kind == Guard::Kind::loop;
    if (!guard.isKnown()) {
      Choice choice{
          number,
          {wait.iterations.begin(), wait.iterations.begin() + static_cast<ptrdiff_t>(loops)},
          static_cast<uint32_t>(tree.coordinates.along(guard.varies, issue.rank)),
          isLoop ? static_cast<uint32_t>(unroller.iterationsOf(number)) : arm};
      if (std::find(result.choices.begin(), result.choices.end(), choice) == result.choices.end())
        result.choices.push_back(std::move(choice));
    }
    loops += isLoop;
  }
}

/// Finds members whose k-th exchanges in a group differ.
std::optional<Counterexample>
Instances::findMixed(const std::vector<std::pair<uint32_t, Issue>> &all) const {
  // Find the first such instance in a group; all instances before it match.
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    for (end = begin; end < all.size() && all[end].first == all[begin].first;)
      ++end;
    if (!states[all[begin].first].isMixed)
      continue;
    const Issue &one = all[begin].second;
    for (size_t i = begin + 1; i < end; ++i) {
      const Issue &other = all[i].second;
      if (tree.plan.sites[siteOf(one)].collectiveId == tree.plan.sites[siteOf(other)].collectiveId)
        continue;
      Counterexample result{Counterexample::Reason::differs, {}, {}};
      result.waits = {waitOf(one, other.rank), waitOf(other, one.rank)};
      addChoices(result, one);
      addChoices(result, other);
      return result;
    }
  }
  return std::nullopt;
}

/// Finds a member whose program ended without joining an exchange.
std::optional<Counterexample>
Instances::findMissed(const std::vector<std::pair<uint32_t, Issue>> &all) const {
  std::optional<Counterexample> found;
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    const uint32_t number = all[begin].first;
    std::set<uint32_t> came;
    for (end = begin; end < all.size() && all[end].first == number; ++end)
      came.insert(all[end].second.rank);
    const Group &group = groupAt(number);
    for (uint32_t i = 0; i < group.size; ++i) {
      const uint32_t member = members[group.first + i];
      if (came.contains(member) || blockOf(member)[at] < programOf(member).events.size())
        continue;
      // Prefer a rank that waits for this exchange.
      for (size_t j = begin; j < end; ++j) {
        const Issue &issue = all[j].second;
        const bool isWaiting = blockOf(issue.rank)[waitsFor] == number;
        if (found && !isWaiting)
          continue;
        found = {Counterexample::Reason::missed, {waitOf(issue, member)}, {}};
        addChoices(*found, issue);
        if (isWaiting)
          return found;
      }
    }
  }
  return found;
}

/// Finds the shortest cycle in the graph with an edge from a to b if exchange a cannot complete
/// before exchange b.
Counterexample Instances::findCycle(const std::vector<std::pair<uint32_t, Issue>> &all) const {
  // Exchange `a` depends on `b` if some member must complete `b` before `a`: either the member is
  // waiting for `b` and has not issued `a` yet, or `b` is at the head of the lane that contains
  // `a`.
  struct Edge {
    uint32_t to;     // a node
    uint32_t member; // the member's issue of `to`, as an index into `all`
  };
  std::vector<uint32_t> instanceOf;
  std::unordered_map<uint32_t, uint32_t> nodeOf;
  std::unordered_map<uint64_t, uint32_t> issueOf; // by rank and instance
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (nodeOf.try_emplace(all[i].first, static_cast<uint32_t>(instanceOf.size())).second)
      instanceOf.push_back(all[i].first);
    issueOf[uint64_t(all[i].second.rank) << 32 | all[i].first] = i;
  }
  std::vector<std::vector<Edge>> edges(instanceOf.size());
  for (uint32_t node = 0; node < instanceOf.size(); ++node) {
    const uint32_t number = instanceOf[node];
    const Group &group = groupAt(number);
    for (uint32_t i = 0; i < group.size; ++i) {
      const uint32_t member = members[group.first + i];
      const auto mine = issueOf.find(uint64_t(member) << 32 | number);
      const uint32_t before =
          mine == issueOf.end() ? blockOf(member)[waitsFor] : all[mine->second].second.head;
      if (before == none || before == number)
        continue;
      const uint32_t to = nodeOf.at(before);
      if (std::none_of(edges[node].begin(), edges[node].end(),
                       [&](const Edge &edge) { return edge.to == to; }))
        edges[node].push_back({to, issueOf.at(uint64_t(member) << 32 | before)});
    }
  }
  // Search breadth-first from each exchange for the shortest cycle through it. A cycle has at least
  // two edges, and a deadlock of many ranks usually contains a short cycle, so the search ends
  // early.
  std::vector<Edge> best;
  std::vector<uint32_t> seen(edges.size(), none), queue;
  std::vector<std::pair<uint32_t, Edge>> cameBy(edges.size());
  int64_t work = 0;
  for (uint32_t root = 0; root < edges.size() && best.size() != 2; ++root) {
    if (!best.empty() && work > 50'000'000)
      break;
    queue.assign(1, root);
    std::vector<uint32_t> depth = {0};
    bool isFound = false;
    for (size_t i = 0; i < queue.size() && !isFound; ++i) {
      if (!best.empty() && depth[i] + 1 >= best.size())
        break;
      for (const Edge &edge : edges[queue[i]]) {
        ++work;
        if (edge.to == root) {
          best = {edge};
          for (uint32_t node = queue[i]; node != root; node = cameBy[node].first)
            best.push_back(cameBy[node].second);
          std::reverse(best.begin(), best.end());
          isFound = true;
          break;
        }
        if (seen[edge.to] == root)
          continue;
        seen[edge.to] = root;
        cameBy[edge.to] = {queue[i], edge};
        queue.push_back(edge.to);
        depth.push_back(depth[i] + 1);
      }
    }
  }
  Counterexample result{Counterexample::Reason::cycle, {}, {}};
  for (size_t i = 0; i < best.size(); ++i) {
    const Issue &issue = all[best[i].member].second;
    result.waits.push_back(waitOf(issue, all[best[(i + 1) % best.size()].member].second.rank));
    addChoices(result, issue);
  }
  return result;
}

Counterexample Instances::findDeadlock() const {
  const std::vector<std::pair<uint32_t, Issue>> all = issues();
  if (std::optional<Counterexample> mixed = findMixed(all))
    return *mixed;
  if (std::optional<Counterexample> missed = findMissed(all))
    return *missed;
  return findCycle(all);
}

} // namespace tilewright::collective
