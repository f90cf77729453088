// ProgramTree: a plan as a tree of loops and branches, as ranks execute it.
#ifndef TILEWRIGHT_PLAN_PROGRAMTREE_H
#define TILEWRIGHT_PLAN_PROGRAMTREE_H

#include "tilewright/plan/CommPlan.h"

#include <utility>

namespace tilewright::collective {

/// The tree, and which parts of it each rank can reach, as far as the plan determines that.
class ProgramTree {
public:
  explicit ProgramTree(const CommPlan &plan);

  const CommPlan &plan;
  const MeshCoordinates coordinates;

  /// An item of an arm; arms list their items in program order.
  struct Item {
    enum class What : uint8_t { start, done, guard } what;
    PlanIndex index; // of the site or guard
  };
  const std::vector<Item> &top() const { return items.front(); }
  const std::vector<Item> &arm(PlanIndex guard, uint32_t number) const {
    return items[firstArm[guard] + number];
  }
  /// The arms that contain something: a branch may have thousands that do not.
  const std::vector<uint32_t> &usedArms(PlanIndex guard) const { return armsWithItems[guard]; }

  using Path = GuardPath;
  Path pathOf(const Site &site) const { return collective::pathOf(plan, site); }

  /// Whether `rank`, once it has reached the guard, can run this arm; true for all arms of a
  /// run-time choice.
  bool takes(int64_t rank, PlanIndex guard, uint32_t arm) const;
  bool takes(int64_t rank, const Path &path) const;
  /// Whether no rank reaches the end of the path, because the path contains a loop with zero
  /// iterations or the condition of a loop with a known trip count.
  bool isDead(const Path &path) const;
  /// Whether the path contains a branch that depends only on the rank.
  bool dependsOnRank(const Path &path) const;

private:
  std::vector<std::vector<Item>> items;             // the top, then the arms of all guards
  std::vector<size_t> firstArm;                     // by guard, in `items`
  std::vector<std::vector<uint32_t>> armsWithItems; // by guard
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_PROGRAMTREE_H
