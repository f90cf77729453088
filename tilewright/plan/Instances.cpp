#include "tilewright/plan/Instances.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tilewright::collective {

Instances::Instances(const ProgramTree &tree, Unroller &unroller)
    : tree(tree), unroller(unroller), ranks(static_cast<size_t>(tree.coordinates.ranks())),
      cliques(tree.plan.cliques.size()) {
  for (const Site &site : tree.plan.sites) {
    siteFields.push_back({site.clique, site.collectiveId, site.lane});
    lanes = std::max<size_t>(lanes, size_t(site.lane) + 1);
  }
}

/// The group of each rank, at [clique * ranks + rank]. If groups of two cliques have the same
/// members in the same order, they are the same group, because engines identify a group by its
/// members.
std::vector<uint32_t> Instances::makeGroups() {
  std::vector<uint32_t> groupOf(cliques * ranks, none);
  std::unordered_multimap<uint64_t, uint32_t> byHash;
  for (PlanIndex clique = 0; clique < cliques; ++clique)
    for (const std::vector<int64_t> &list : groupsOf(tree.coordinates, tree.plan.cliques[clique])) {
      uint64_t hash = list.size();
      for (int64_t rank : list)
        hash = (hash ^ static_cast<uint64_t>(rank)) * 0x9E3779B97F4A7C15u + (hash >> 29);
      uint32_t number = none;
      for (auto [it, end] = byHash.equal_range(hash); it != end; ++it)
        if (const Group &group = groups[it->second];
            std::equal(list.begin(), list.end(), members.begin() + group.first,
                       members.begin() + group.first + group.size))
          number = it->second;
      if (number == none) {
        number = static_cast<uint32_t>(groups.size());
        groups.push_back({static_cast<uint32_t>(members.size()), static_cast<uint32_t>(list.size()),
                          clique, 0, 0});
        for (int64_t rank : list)
          members.push_back(static_cast<uint32_t>(rank));
        byHash.emplace(hash, number);
      }
      for (int64_t rank : list)
        groupOf[clique * ranks + static_cast<size_t>(rank)] = number;
    }
  return groupOf;
}

Status Instances::prepare(int64_t maxEvents) {
  const std::vector<uint32_t> groupOf = makeGroups();
  std::vector<uint32_t> kinds(ranks);
  int64_t events = 0;
  std::vector<std::vector<uint32_t>> startsOf; // by kind, by clique
  std::vector<uint32_t> counted(cliques);
  for (size_t rank = 0; rank < ranks; ++rank) {
    TILEWRIGHT_ASSIGN(size_t mine, unroller.kindOf(static_cast<int64_t>(rank), maxEvents));
    kinds[rank] = static_cast<uint32_t>(mine);
    const Unrolled &unrolled = unroller.kinds()[mine];
    events += static_cast<int64_t>(unrolled.events.size());
    if (events > maxEvents)
      return Status(Error::commUnproven,
                    concat("the first ", rank + 1, " of ", ranks, " ranks alone have more than ",
                           maxEvents, " starts and waits, too many to verify"));
    if (mine == startsOf.size()) {
      std::vector<uint32_t> &starts = startsOf.emplace_back(cliques);
      for (const Unrolled::Event &event : unrolled.events)
        starts[siteFields[event.site].clique] += !event.isDone;
      slotCount = std::max<size_t>(slotCount, unrolled.slots);
    }
    // A group has as many instances as its busiest member issues exchanges.
    for (size_t clique = 0; clique < cliques; ++clique)
      if (const uint32_t group = groupOf[clique * ranks + rank]; group != none)
        counted[groups[group].clique] += startsOf[mine][clique];
    for (size_t clique = 0; clique < cliques; ++clique)
      if (const uint32_t group = groupOf[clique * ranks + rank]; group != none)
        groups[group].count = std::max(groups[group].count, counted[groups[group].clique]);
    std::fill(counted.begin(), counted.end(), 0);
  }
  uint32_t total = 0;
  for (Group &group : groups) {
    group.base = total;
    total += group.count;
  }
  states.resize(total);
  for (uint32_t group = 0; group < groups.size(); ++group)
    for (uint32_t i = 0; i < groups[group].count; ++i)
      states[groups[group].base + i].group = group;
  // Round up to whole cache lines, so that a rank's state occupies as few as possible.
  stride = (groupIn(0) + cliques + 15) / 16 * 16;
  blocks.assign(ranks * stride, 0);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    uint32_t *block = blockOf(rank);
    block[waitsFor] = none;
    block[kind] = kinds[rank];
    std::fill_n(block + heads, 2 * lanes, none);
    for (PlanIndex clique = 0; clique < cliques; ++clique)
      block[groupIn(clique)] = groupOf[clique * ranks + rank];
  }
  firstDone.assign(siteFields.size(), none);
  unfinished = ranks;
  return Status();
}

Status Instances::run(int64_t maxEvents) {
  TILEWRIGHT_TRY(prepare(maxEvents));
  ready.resize(ranks);
  std::iota(ready.rbegin(), ready.rend(), 0);
  while (!ready.empty()) {
    const uint32_t rank = ready.back();
    ready.pop_back();
    advance(rank);
  }
  return Status();
}

void Instances::advance(uint32_t rank) {
  const std::vector<Unrolled::Event> &events = programOf(rank).events;
  uint32_t *block = blockOf(rank);
  for (; block[at] < events.size(); ++block[at]) {
    const Unrolled::Event &event = events[block[at]];
    const uint32_t group = block[groupIn(siteFields[event.site].clique)];
    if (group == none)
      continue;
    if (!event.isDone) {
      issue(block, event, groups[group]);
    } else if (const uint32_t mine = block[slotAt(event.slot) + instance];
               !states[mine].isComplete) {
      block[waitsFor] = mine;
      return;
    }
    ++passed;
  }
  --unfinished;
}

void Instances::issue(uint32_t *block, const Unrolled::Event &issued, const Group &group) {
  const SiteFields &site = siteFields[issued.site];
  const uint32_t number = group.base + block[issuedIn(group.clique)]++;
  State &state = states[number];
  if (!state.isIssued)
    state.collectiveId = site.collectiveId;
  state.isMixed |= state.collectiveId != site.collectiveId;
  state.isIssued = true;
  uint32_t *slot = block + slotAt(issued.slot);
  slot[instance] = number;
  slot[next] = none;
  slot[event] = block[at];
  uint32_t &first = block[heads + site.lane], &last = block[tails() + site.lane];
  if (first != none) {
    block[slotAt(last) + next] = issued.slot;
    last = issued.slot;
    return;
  }
  first = last = issued.slot;
  arrive(number);
}

void Instances::arrive(uint32_t first) {
  // Completing an exchange brings others to the head of their lanes, so use a worklist instead of
  // recursion.
  arriving.push_back(first);
  while (!arriving.empty()) {
    const uint32_t number = arriving.back();
    arriving.pop_back();
    State &state = states[number];
    if (++state.arrived == groups[state.group].size && !state.isMixed)
      complete(number);
  }
}

void Instances::complete(uint32_t number) {
  states[number].isComplete = true;
  const Group &group = groupAt(number);
  for (uint32_t i = 0; i < group.size; ++i) {
    const uint32_t rank = members[group.first + i];
    uint32_t *block = blockOf(rank);
    // The exchange is at the head of one of the rank's lanes.
    uint32_t *first = block + heads;
    while (*first == none || block[slotAt(*first) + instance] != number)
      ++first;
    const uint32_t *slot = block + slotAt(*first);
    if (i == 0) {
      uint32_t &order = firstDone[programOf(rank).events[slot[event]].site];
      order = std::min(order, completions++);
    }
    *first = slot[next];
    if (slot[next] != none)
      arriving.push_back(block[slotAt(slot[next]) + instance]);
    if (block[waitsFor] == number) {
      block[waitsFor] = none;
      ready.push_back(rank);
    }
  }
}

std::vector<PlanIndex> Instances::order() const {
  std::vector<PlanIndex> sites(tree.plan.sites.size());
  std::iota(sites.begin(), sites.end(), 0);
  std::sort(sites.begin(), sites.end(), [&](PlanIndex a, PlanIndex b) {
    return std::pair(firstDone[a], a) < std::pair(firstDone[b], b);
  });
  return sites;
}

} // namespace tilewright::collective
