// ProgramTree: a plan as the tree of loops and branches that its ranks walk through.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_PROGRAMTREE_H
#define TILEWRIGHT_COLLECTIVE_PLAN_PROGRAMTREE_H

#include "tilewright/collective/plan/CommPlan.h"

#include <utility>

namespace tilewright::collective {

/// The tree, and who gets where by what is known before the run.
class ProgramTree {
public:
  explicit ProgramTree(const CommPlan &plan);

  const CommPlan &plan;
  const Coordinates coordinates;

  /// What stands in an arm, in order.
  struct Item {
    enum class What : uint8_t { start, done, guard } what;
    PlanIndex index; // of the site or guard
  };
  const std::vector<Item> &top() const { return items.front(); }
  const std::vector<Item> &arm(PlanIndex guard, uint32_t number) const {
    return items[firstArm[guard] + number];
  }

  using Path = GuardPath;
  Path pathOf(const Site &site) const { return collective::pathOf(plan, site); }

  /// Whether the arm of a guard is ever run by `rank`, which reaches the guard, as far as the plan
  /// knows: yes for all arms that only the run chooses.
  bool takes(int64_t rank, PlanIndex guard, uint32_t arm) const;
  bool takes(int64_t rank, const Path &path) const;
  /// Whether no rank ever gets to some part of the path: a loop of no turns.
  bool isDead(const Path &path) const;
  /// Whether the rank alone decides something on the path.
  bool dependsOnRank(const Path &path) const;

  /// Loops that surround `guard`, innermost last, not itself.
  std::vector<PlanIndex> loopsAround(PlanIndex guard) const;

private:
  std::vector<std::vector<Item>> items; // the top, then the arms of all guards
  std::vector<size_t> firstArm;         // by guard, in `items`
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_PROGRAMTREE_H
