#include "tilewright/collective/plan/Instances.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace tilewright::collective {

Instances::Instances(const ProgramTree &tree, Unroller &unroller)
    : tree(tree), unroller(unroller), ranks(static_cast<size_t>(tree.coordinates.ranks())) {}

/// Groups of two cliques that have the same members in the same order are one: engines know them
/// by that.
void Instances::makeGroups() {
  groupOf.assign(tree.plan.cliques.size() * ranks, nobody);
  std::unordered_multimap<uint64_t, uint32_t> byHash;
  for (PlanIndex clique = 0; clique < tree.plan.cliques.size(); ++clique)
    for (const std::vector<int64_t> &list : tree.coordinates.groupsOf(tree.plan.cliques[clique])) {
      uint64_t hash = list.size();
      for (int64_t rank : list)
        hash = (hash ^ static_cast<uint64_t>(rank)) * 0x9E3779B97F4A7C15u + (hash >> 29);
      uint32_t number = nobody;
      for (auto [it, end] = byHash.equal_range(hash); it != end; ++it)
        if (const Group &group = groups[it->second];
            std::equal(list.begin(), list.end(), members.begin() + group.first,
                       members.begin() + group.first + group.size))
          number = it->second;
      if (number == nobody) {
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
}

Status Instances::prepare(int64_t maxEvents) {
  makeGroups();
  for (const Site &site : tree.plan.sites)
    lanes = std::max<size_t>(lanes, size_t(site.lane) + 1);
  kind.resize(ranks);
  int64_t events = 0;
  const size_t cliques = tree.plan.cliques.size();
  std::vector<std::vector<uint32_t>> startsOf; // by kind, by clique
  std::vector<uint32_t> counted(cliques);
  for (size_t rank = 0; rank < ranks; ++rank) {
    TILEWRIGHT_ASSIGN(size_t mine, unroller.kindOf(static_cast<int64_t>(rank), maxEvents));
    kind[rank] = static_cast<uint32_t>(mine);
    const Unrolled &unrolled = unroller.kinds()[mine];
    events += static_cast<int64_t>(unrolled.events.size());
    if (events > maxEvents)
      return Status(Error::commUnproven,
                    concat("the first ", rank + 1, " of ", ranks, " ranks alone have more than ",
                           maxEvents, " starts and waits"));
    if (mine == startsOf.size()) {
      std::vector<uint32_t> &starts = startsOf.emplace_back(cliques);
      for (const Unrolled::Event &event : unrolled.events)
        starts[tree.plan.sites[event.site].clique] += !event.isDone;
      slotCount = std::max<size_t>(slotCount, unrolled.slots);
    }
    // How many exchanges each group has is what its busiest member issues.
    for (size_t clique = 0; clique < cliques; ++clique)
      if (const uint32_t group = groupOf[clique * ranks + rank]; group != nobody)
        counted[groups[group].clique] += startsOf[mine][clique];
    for (size_t clique = 0; clique < cliques; ++clique)
      if (const uint32_t group = groupOf[clique * ranks + rank]; group != nobody) {
        groups[group].count = std::max(groups[group].count, counted[groups[group].clique]);
      }
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
  at.resize(ranks);
  waitsFor.assign(ranks, nobody);
  issued.resize(ranks * cliques);
  head.assign(ranks * lanes, nobody);
  tail.assign(ranks * lanes, nobody);
  slots.resize(ranks * slotCount);
  firstDone.assign(tree.plan.sites.size(), nobody);
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
  const std::vector<Unrolled::Event> &events = unroller.kinds()[kind[rank]].events;
  for (; at[rank] < events.size(); ++at[rank]) {
    const Unrolled::Event &event = events[at[rank]];
    const uint32_t group = groupOf[tree.plan.sites[event.site].clique * ranks + rank];
    if (group == nobody)
      continue;
    ++passed;
    if (!event.isDone) {
      issue(rank, event, groups[group]);
      continue;
    }
    const uint32_t instance = slots[rank * slotCount + event.slot].instance;
    if (states[instance].isComplete)
      continue;
    --passed;
    waitsFor[rank] = instance;
    return;
  }
  --unfinished;
}

void Instances::issue(uint32_t rank, const Unrolled::Event &event, const Group &group) {
  const Site &site = tree.plan.sites[event.site];
  const uint32_t instance = group.base + issued[rank * tree.plan.cliques.size() + group.clique]++;
  State &state = states[instance];
  if (!state.isIssued)
    state.meeting = site.meeting;
  state.isMixed |= state.meeting != site.meeting;
  state.isIssued = true;
  slots[rank * slotCount + event.slot] = {instance, nobody, at[rank]};
  uint32_t &first = head[rank * lanes + site.lane], &last = tail[rank * lanes + site.lane];
  if (first != nobody) {
    slots[rank * slotCount + last].next = event.slot;
    last = event.slot;
    return;
  }
  first = last = event.slot;
  arrive(instance);
}

void Instances::arrive(uint32_t instance) {
  // Completing one brings others to the head of their lanes; a list instead of recursion.
  arriving.push_back(instance);
  while (!arriving.empty()) {
    const uint32_t next = arriving.back();
    arriving.pop_back();
    State &state = states[next];
    if (++state.arrived == groups[state.group].size && !state.isMixed)
      complete(next);
  }
}

void Instances::complete(uint32_t instance) {
  states[instance].isComplete = true;
  const Group &group = groupAt(instance);
  for (uint32_t i = 0; i < group.size; ++i) {
    const uint32_t rank = members[group.first + i];
    // It is at the head of one of the rank's lanes.
    uint32_t *first = &head[rank * lanes];
    while (*first == nobody || slots[rank * slotCount + *first].instance != instance)
      ++first;
    const Slot &slot = slots[rank * slotCount + *first];
    if (i == 0) {
      uint32_t &order = firstDone[unroller.kinds()[kind[rank]].events[slot.event].site];
      order = std::min(order, completions++);
    }
    *first = slot.next;
    if (slot.next != nobody)
      arriving.push_back(slots[rank * slotCount + slot.next].instance);
    if (waitsFor[rank] == instance) {
      waitsFor[rank] = nobody;
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
