#include "tilewright/plan/ProgramTree.h"

#include <algorithm>

namespace tilewright::collective {

ProgramTree::ProgramTree(const CommPlan &plan) : plan(plan), coordinates(plan.mesh) {
  size_t arms = 1;
  for (const Guard &guard : plan.guards) {
    firstArm.push_back(arms);
    arms += guard.arms;
  }
  std::vector<std::vector<std::pair<uint32_t, Item>>> found(arms);
  auto at = [&](PlanIndex guard, uint32_t arm) -> auto & {
    return found[guard == nothing ? 0 : firstArm[guard] + arm];
  };
  for (PlanIndex i = 0; i < plan.sites.size(); ++i) {
    const Site &site = plan.sites[i];
    at(site.guard, site.arm).push_back({site.start, {Item::What::start, i}});
    at(site.guard, site.arm).push_back({site.done, {Item::What::done, i}});
  }
  for (PlanIndex i = 0; i < plan.guards.size(); ++i)
    at(plan.guards[i].parent, plan.guards[i].arm)
        .push_back({plan.guards[i].position, {Item::What::guard, i}});
  for (auto &list : found) {
    std::sort(list.begin(), list.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Item> &into = items.emplace_back();
    for (const auto &[position, item] : list)
      into.push_back(item);
  }
  for (PlanIndex i = 0; i < plan.guards.size(); ++i) {
    std::vector<uint32_t> &used = armsWithItems.emplace_back();
    for (uint32_t number = 0; number < plan.guards[i].arms; ++number)
      if (!arm(i, number).empty())
        used.push_back(number);
  }
}

bool ProgramTree::takes(int64_t rank, PlanIndex number, uint32_t arm) const {
  const Guard &guard = plan.guards[number];
  if (guard.kind == Guard::Kind::loop)
    // A loop with a known trip count never runs its condition.
    return guard.tripCount < 0 || (arm == 1 && guard.tripCount > 0);
  return guard.choices.empty() ||
         guard.choices[static_cast<size_t>(coordinates.along(guard.varies, rank))] == arm;
}

bool ProgramTree::takes(int64_t rank, const Path &path) const {
  return std::all_of(path.begin(), path.end(),
                     [&](const auto &step) { return takes(rank, step.first, step.second); });
}

bool ProgramTree::isDead(const Path &path) const {
  return std::any_of(path.begin(), path.end(), [&](const auto &step) {
    return plan.guards[step.first].kind == Guard::Kind::loop && !takes(0, step.first, step.second);
  });
}

bool ProgramTree::dependsOnRank(const Path &path) const {
  return std::any_of(path.begin(), path.end(),
                     [&](const auto &step) { return !plan.guards[step.first].choices.empty(); });
}

} // namespace tilewright::collective
