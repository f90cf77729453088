// How often loops are run through, and what each kind of rank does.
#include "tilewright/collective/plan/Instances.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <limits>

namespace tilewright::collective {

Unroller::Unroller(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &meetings,
                   std::vector<Choice> fixedChoices, std::optional<int64_t> mostTurns)
    : tree(tree), fixed(std::move(fixedChoices)), slotOfSite(tree.plan.sites.size()) {
  for (PlanIndex i = 0; i < tree.plan.guards.size(); ++i) {
    const bool isFixed = std::any_of(fixed.begin(), fixed.end(),
                                     [&](const Choice &choice) { return choice.guard == i; });
    if (!tree.plan.guards[i].choices.empty() || isFixed)
      deciding.push_back(i);
  }
  chooseTurns(meetings, mostTurns);
}

/// A loop around which no rank decides anything is run through once: whoever runs it does all of
/// one turn before the next, so ranks that wait for each other in a circle do so within a turn.
///
/// Inside a branch that ranks decide, somebody outside the loop may close a circle that enters the
/// loop in one turn and leaves it in a later one. Such a way never needs to pass the same
/// exchange twice (what lies between can be left out, the rest done so many turns earlier), so
/// as many turns as the body has exchanges, and one, show it. That holds if all places of the
/// exchanges are inside; if not, turns are counted against each other, and all are run.
void Unroller::chooseTurns(const std::vector<std::vector<PlanIndex>> &meetings,
                           std::optional<int64_t> mostTurns) {
  const CommPlan &plan = tree.plan;
  loopTurns.assign(plan.guards.size(), 1);
  std::vector<int64_t> exchanges(plan.guards.size());
  std::vector<bool> isOpen(plan.guards.size());
  for (const std::vector<PlanIndex> &sites : meetings) {
    const auto groups = static_cast<int64_t>(
        tree.coordinates.groupsOf(plan.cliques[plan.sites[sites[0]].clique]).size());
    std::vector<size_t> inside(plan.guards.size());
    for (PlanIndex site : sites)
      for (const auto &step : tree.pathOf(plan.sites[site])) {
        exchanges[step.first] += groups;
        ++inside[step.first];
      }
    for (size_t i = 0; i < inside.size(); ++i)
      if (inside[i] > 0 && inside[i] < sites.size())
        isOpen[i] = true;
  }
  for (PlanIndex i = 0; i < plan.guards.size(); ++i) {
    const Guard &guard = plan.guards[i];
    if (guard.kind != Guard::Kind::loop)
      continue;
    bool isDecided = false;
    for (PlanIndex around = guard.parent; around != nothing; around = plan.guards[around].parent)
      isDecided |= !plan.guards[around].choices.empty();
    int64_t turns = isDecided ? exchanges[i] + 1 : 1;
    if (guard.tripCount >= 0)
      turns = mostTurns || isOpen[i] ? guard.tripCount : std::min(turns, guard.tripCount);
    else if (mostTurns)
      turns = std::min(turns, *mostTurns);
    loopTurns[i] = turns;
  }
}

int64_t Unroller::countEvents(const std::vector<ProgramTree::Item> &items, int64_t rank) const {
  // Saturates far above what anybody runs.
  constexpr int64_t most = int64_t(1) << 40;
  int64_t count = 0;
  for (const ProgramTree::Item &item : items) {
    if (item.what != ProgramTree::Item::What::guard) {
      ++count;
    } else {
      const Guard &guard = tree.plan.guards[item.index];
      for (uint32_t arm = 0; arm < guard.arms; ++arm)
        if (tree.takes(rank, item.index, arm)) {
          const int64_t turns =
              guard.kind == Guard::Kind::loop ? loopTurns[item.index] + (arm == 0) : 1;
          const int64_t each = countEvents(tree.arm(item.index, arm), rank);
          count += each > 0 && turns > most / each ? most : each * turns;
        }
    }
    if (count > most)
      return most;
  }
  return count;
}

Result<size_t> Unroller::kindOf(int64_t rank, int64_t maxEvents) {
  std::vector<uint32_t> key;
  for (PlanIndex guard : deciding)
    key.push_back(tree.coordinates.along(tree.plan.guards[guard].varies, rank));
  // Places that choose alike everywhere are one kind.
  for (size_t i = 0; i < key.size(); ++i)
    if (const Guard &guard = tree.plan.guards[deciding[i]]; !guard.choices.empty())
      key[i] = guard.choices[key[i]];
  auto [known, isNew] = kindOfKey.try_emplace(std::move(key), made.size());
  if (!isNew)
    return known->second;
  if (countEvents(tree.top(), rank) > maxEvents)
    return Status(Error::commUnproven,
                  concat("rank ", rank, " has more than ", maxEvents,
                         " starts and waits; loops inside branches that a rank decides are the "
                         "reason, move such a branch into the loop"));
  Unrolled unrolled;
  freeSlots.clear();
  current.clear();
  currentNumber = static_cast<uint32_t>(allTurns.size());
  allTurns.push_back(current);
  unroll(tree.top(), rank, unrolled);
  made.push_back(std::move(unrolled));
  return made.size() - 1;
}

void Unroller::unroll(const std::vector<ProgramTree::Item> &items, int64_t rank, Unrolled &into) {
  for (const ProgramTree::Item &item : items) {
    if (item.what == ProgramTree::Item::What::guard) {
      unrollGuard(item.index, rank, into);
      continue;
    }
    const bool isDone = item.what == ProgramTree::Item::What::done;
    if (!isDone) {
      if (freeSlots.empty())
        freeSlots.push_back(into.slots++);
      slotOfSite[item.index] = freeSlots.back();
      freeSlots.pop_back();
    } else {
      freeSlots.push_back(slotOfSite[item.index]);
    }
    into.events.push_back({item.index, slotOfSite[item.index] & 0x7FFFFFFF, isDone, currentNumber});
  }
}

void Unroller::unrollGuard(PlanIndex number, int64_t rank, Unrolled &into) {
  const Guard &guard = tree.plan.guards[number];
  if (guard.kind == Guard::Kind::branch) {
    const uint32_t place = tree.coordinates.along(guard.varies, rank);
    const auto choice = std::find_if(fixed.begin(), fixed.end(), [&](const Choice &choice) {
      return choice.guard == number && choice.place == place && choice.turns == current;
    });
    for (uint32_t arm = 0; arm < guard.arms; ++arm)
      if (choice != fixed.end() ? choice->arm == arm : tree.takes(rank, number, arm))
        unroll(tree.arm(number, arm), rank, into);
    return;
  }
  const uint32_t before = currentNumber;
  auto enter = [&](uint32_t turn) {
    current.back() = turn;
    currentNumber = static_cast<uint32_t>(allTurns.size());
    allTurns.push_back(current);
  };
  current.push_back(0);
  const bool hasCondition = tree.takes(rank, number, 0) && !tree.arm(number, 0).empty();
  for (int64_t turn = 0; turn < loopTurns[number]; ++turn) {
    enter(static_cast<uint32_t>(turn));
    if (hasCondition)
      unroll(tree.arm(number, 0), rank, into);
    unroll(tree.arm(number, 1), rank, into);
  }
  if (hasCondition) {
    enter(static_cast<uint32_t>(loopTurns[number]));
    unroll(tree.arm(number, 0), rank, into);
  }
  current.pop_back();
  currentNumber = before;
}

} // namespace tilewright::collective
