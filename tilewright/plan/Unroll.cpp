// Chooses how many iterations of each loop to simulate, and unrolls the program of each kind of
// rank.
#include "tilewright/plan/Instances.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <limits>

namespace tilewright::collective {

Unroller::Unroller(const ProgramTree &tree, const std::vector<std::vector<PlanIndex>> &collectives,
                   std::vector<Choice> fixedChoices, std::optional<int64_t> maxIterations)
    : tree(tree), fixed(std::move(fixedChoices)), slotOfSite(tree.plan.sites.size()) {
  for (PlanIndex i = 0; i < tree.plan.guards.size(); ++i) {
    const bool isFixed = std::any_of(fixed.begin(), fixed.end(),
                                     [&](const Choice &choice) { return choice.guard == i; });
    if (!tree.plan.guards[i].choices.empty() || isFixed)
      deciding.push_back(i);
  }
  chooseIterations(collectives, maxIterations);
}

/// A loop outside all rank-dependent branches needs only one iteration: every rank completes an
/// iteration before the next, so a deadlock cycle lies within one iteration.
///
/// Inside a rank-dependent branch, a rank outside the loop may close a cycle that enters the loop
/// in one iteration and leaves it in a later one. A shortest such cycle never passes the same
/// exchange twice: the part between the two passes can be cut out, and the rest moved that many
/// iterations earlier. So one iteration more than the body has exchanges is enough. This argument
/// requires that all sites of those exchanges are inside the loop. If some are outside, a deadlock
/// may depend on how often each rank issues the exchange, so all iterations are simulated if the
/// trip count is known.
void Unroller::chooseIterations(const std::vector<std::vector<PlanIndex>> &collectives,
                                std::optional<int64_t> maxIterations) {
  const CommPlan &plan = tree.plan;
  loopIterations.assign(plan.guards.size(), 1);
  std::vector<int64_t> exchanges(plan.guards.size());
  std::vector<bool> isOpen(plan.guards.size());
  for (const std::vector<PlanIndex> &sites : collectives) {
    const auto groups = static_cast<int64_t>(
        groupsOf(tree.coordinates, plan.cliques[plan.sites[sites[0]].clique]).size());
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
    int64_t iterations = isDecided ? exchanges[i] + 1 : 1;
    if (guard.tripCount >= 0)
      iterations =
          maxIterations || isOpen[i] ? guard.tripCount : std::min(iterations, guard.tripCount);
    else if (maxIterations)
      iterations = std::min(iterations, *maxIterations);
    loopIterations[i] = iterations;
  }
}

int64_t Unroller::countEvents(const std::vector<ProgramTree::Item> &items, int64_t rank) const {
  // Saturation limit, far above any plan that can be simulated.
  constexpr int64_t most = int64_t(1) << 40;
  int64_t count = 0;
  for (const ProgramTree::Item &item : items) {
    if (item.what != ProgramTree::Item::What::guard) {
      ++count;
    } else {
      const Guard &guard = tree.plan.guards[item.index];
      for (uint32_t arm : tree.usedArms(item.index))
        if (tree.takes(rank, item.index, arm)) {
          const int64_t iterations =
              guard.kind == Guard::Kind::loop ? loopIterations[item.index] + (arm == 0) : 1;
          const int64_t each = countEvents(tree.arm(item.index, arm), rank);
          count += each > 0 && iterations > most / each ? most : each * iterations;
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
    key.push_back(
        static_cast<uint32_t>(tree.coordinates.along(tree.plan.guards[guard].varies, rank)));
  // Ranks that take the same arm at every rank-dependent branch are of the same kind.
  for (size_t i = 0; i < key.size(); ++i)
    if (const Guard &guard = tree.plan.guards[deciding[i]]; !guard.choices.empty())
      key[i] = guard.choices[key[i]];
  auto [known, isNew] = kindOfKey.try_emplace(std::move(key), made.size());
  if (!isNew)
    return known->second;
  const int64_t most = std::min(maxEvents, maxUnrolled - unrolledEvents);
  if (const int64_t count = countEvents(tree.top(), rank); count > most)
    return Status(Error::commUnproven,
                  concat("rank ", rank, " executes more than ", most,
                         " collective starts and waits, too many to verify; this happens when a "
                         "loop with collectives is inside a rank-dependent branch: move the branch "
                         "into the loop"));
  else
    unrolledEvents += count;
  findEmpty(tree.top(), rank);
  Unrolled unrolled;
  freeSlots.clear();
  current.clear();
  currentNumber = static_cast<uint32_t>(allIterations.size());
  allIterations.push_back(current);
  unroll(tree.top(), rank, unrolled);
  made.push_back(std::move(unrolled));
  return made.size() - 1;
}

/// Finds loops and branches that contain no exchange of this rank; unroll() skips them, however
/// many iterations they have. Returns whether all `items` are such.
bool Unroller::findEmpty(const std::vector<ProgramTree::Item> &items, int64_t rank) {
  isEmpty.resize(tree.plan.guards.size());
  bool allEmpty = true;
  for (const ProgramTree::Item &item : items) {
    if (item.what == ProgramTree::Item::What::guard) {
      bool empty = true;
      for (uint32_t arm : tree.usedArms(item.index))
        if (tree.takes(rank, item.index, arm))
          empty &= findEmpty(tree.arm(item.index, arm), rank);
      isEmpty[item.index] = empty;
      allEmpty &= empty;
    } else {
      allEmpty = false;
    }
  }
  return allEmpty;
}

void Unroller::unroll(const std::vector<ProgramTree::Item> &items, int64_t rank, Unrolled &into) {
  for (const ProgramTree::Item &item : items) {
    if (item.what == ProgramTree::Item::What::guard) {
      if (!isEmpty[item.index])
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
    const auto place = static_cast<uint32_t>(tree.coordinates.along(guard.varies, rank));
    const auto choice = std::find_if(fixed.begin(), fixed.end(), [&](const Choice &choice) {
      return choice.guard == number && choice.place == place && choice.iterations == current;
    });
    for (uint32_t arm : tree.usedArms(number))
      if (choice != fixed.end() ? choice->arm == arm : tree.takes(rank, number, arm))
        unroll(tree.arm(number, arm), rank, into);
    return;
  }
  const uint32_t before = currentNumber;
  auto enter = [&](uint32_t iteration) {
    current.back() = iteration;
    currentNumber = static_cast<uint32_t>(allIterations.size());
    allIterations.push_back(current);
  };
  current.push_back(0);
  const bool hasCondition = tree.takes(rank, number, 0) && !tree.arm(number, 0).empty();
  for (int64_t iteration = 0; iteration < loopIterations[number]; ++iteration) {
    enter(static_cast<uint32_t>(iteration));
    if (hasCondition)
      unroll(tree.arm(number, 0), rank, into);
    unroll(tree.arm(number, 1), rank, into);
  }
  if (hasCondition) {
    enter(static_cast<uint32_t>(loopIterations[number]));
    unroll(tree.arm(number, 0), rank, into);
  }
  current.pop_back();
  currentNumber = before;
}

} // namespace tilewright::collective
