#include "tilewright/plan/CommPlan.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace tilewright::collective {
namespace {

class Checker {
public:
  explicit Checker(const CommPlan &plan) : plan(plan) {}

  Status check() {
    TILEWRIGHT_TRY(checkMesh());
    for (size_t i = 0; i < plan.cliques.size(); ++i)
      TILEWRIGHT_TRY(checkClique(i, plan.cliques[i]));
    for (size_t i = 0; i < plan.guards.size(); ++i)
      TILEWRIGHT_TRY(checkGuard(i, plan.guards[i]));
    for (size_t i = 0; i < plan.sites.size(); ++i)
      TILEWRIGHT_TRY(checkSite(i, plan.sites[i]));
    for (size_t i = 0; i < plan.windows.size(); ++i) {
      const Window &window = plan.windows[i];
      if (window.clique >= plan.cliques.size() || window.bytes < 0 || window.bytes > maxBytes ||
          window.alignment < 1 || (window.alignment & (window.alignment - 1)) != 0 ||
          window.alignment > 1 << 21)
        return fail("window ", i, " has ", window.bytes, " bytes, alignment ", window.alignment,
                    " and clique ", window.clique, "; expected 0 to ", maxBytes,
                    " bytes, a power of two up to ", 1 << 21, " and a clique less than ",
                    plan.cliques.size());
    }
    TILEWRIGHT_TRY(checkPositions());
    return checkCollectives();
  }

private:
  static constexpr int64_t maxRanks = int64_t(1) << 24, maxBytes = int64_t(1) << 56;
  static constexpr size_t maxNesting = 128, maxArms = size_t(1) << 20;

  template <typename... Parts> static Status fail(const Parts &...parts) {
    return Status(Error::commPlanInvalid,
                  concat("in the communication plan, ", parts..., "; compile the program again"));
  }

  Status checkMesh() {
    if (plan.mesh.axes.size() > maxAxes)
      return fail("the mesh has ", plan.mesh.axes.size(), " axes, but at most ", maxAxes,
                  " are supported");
    ranks = 1;
    std::unordered_set<std::string> names;
    for (const MeshAxis &axis : plan.mesh.axes) {
      if (axis.name.empty() || !names.insert(axis.name).second)
        return axis.name.empty() ? fail("an axis of the mesh has no name")
                                 : fail("two axes of the mesh are called '", axis.name, "'");
      if (axis.size < 1 || axis.size > maxRanks / ranks)
        return fail("axis '", axis.name, "' has size ", axis.size,
                    "; sizes must be positive, and their product at most ", maxRanks, " ranks");
      ranks *= axis.size;
    }
    if (plan.mesh.order.empty())
      return Status();
    if (static_cast<int64_t>(plan.mesh.order.size()) != ranks)
      return fail("the mesh has ", ranks, " ranks, but its order lists ", plan.mesh.order.size());
    return checkRanks("the mesh", plan.mesh.order, seenRanks());
  }

  std::vector<bool> seenRanks() const { return std::vector<bool>(static_cast<size_t>(ranks)); }
  template <typename List>
  Status checkRanks(const std::string &owner, const List &list, std::vector<bool> &&seen) const {
    return checkRanks(owner, list, seen);
  }
  template <typename List>
  Status checkRanks(const std::string &owner, const List &list, std::vector<bool> &seen) const {
    for (int64_t rank : list) {
      if (rank < 0 || rank >= ranks)
        return fail(owner, " names rank ", rank, ", but the mesh has ", ranks, " ranks");
      if (seen[static_cast<size_t>(rank)])
        return fail(owner, " names rank ", rank, " twice");
      seen[static_cast<size_t>(rank)] = true;
    }
    return Status();
  }

  Status checkClique(size_t number, const CliqueSpec &clique) const {
    const std::string owner = concat("clique ", number);
    if (clique.form == CliqueSpec::Form::axes) {
      AxisSet seen = 0;
      for (uint8_t axis : clique.axes) {
        if (axis >= plan.mesh.axes.size() || (seen >> axis & 1))
          return fail(owner, " has axis ", axis, "; its axes must be distinct and less than ",
                      plan.mesh.axes.size());
        seen |= AxisSet(1) << axis;
      }
      if (!clique.lists.empty())
        return fail(owner, " is defined by axes, but also has lists of ranks");
      return Status();
    }
    if (!clique.axes.empty())
      return fail(owner, " is defined by lists of ranks, but also has axes");
    // For engines a call without groups means all ranks, but a plan represents that as a clique of
    // all axes.
    if (clique.form == CliqueSpec::Form::groups && clique.lists.empty())
      return fail(owner, " is defined by groups of ranks, but has no group");
    std::vector<bool> first = seenRanks(), second = seenRanks();
    for (const std::vector<int64_t> &list : clique.lists) {
      if (clique.form == CliqueSpec::Form::groups) {
        TILEWRIGHT_TRY(checkRanks(owner, list, first));
        continue;
      }
      if (list.size() != 2)
        return fail(owner, " has a pair of ", list.size(), " ranks, expected 2");
      TILEWRIGHT_TRY(checkRanks(owner, std::array{list[0]}, first));
      TILEWRIGHT_TRY(checkRanks(owner, std::array{list[1]}, second));
    }
    return Status();
  }

  /// Checks the enclosing guard and arm of a guard or site; `parent` is `nothing` at the top level.
  Status checkPlace(const std::string &owner, PlanIndex parent, uint32_t arm, size_t guards) const {
    if (parent == nothing)
      return arm == 0 ? Status()
                      : fail(owner, " has arm number ", arm, ", but is not inside a guard");
    if (parent >= guards)
      return fail(owner, " is inside guard ", parent, ", expected an index less than ", guards);
    if (arm >= plan.guards[parent].arms)
      return fail(owner, " is in arm ", arm, " of guard ", parent, ", which has ",
                  plan.guards[parent].arms, " arms");
    return Status();
  }

  Status checkGuard(size_t number, const Guard &guard) {
    const std::string owner = concat("guard ", number);
    TILEWRIGHT_TRY(checkPlace(owner, guard.parent, guard.arm, number));
    depths.push_back(guard.parent == nothing ? 1 : depths[guard.parent] + 1);
    if (depths.back() > maxNesting)
      return fail(owner, " is nested deeper than ", maxNesting, " levels");
    const bool isLoop = guard.kind == Guard::Kind::loop;
    if (isLoop ? guard.arms != 2 : guard.arms < 1 || guard.arms > 1 << 16)
      return fail(owner, " has ", guard.arms, " arms, expected ",
                  isLoop ? "2 for a loop" : "1 to 65536 for a branch");
    if ((arms += guard.arms) > maxArms)
      return fail("all guards together have more than ", maxArms, " arms");
    if (guard.tripCount < -1 || (!isLoop && guard.tripCount != -1))
      return fail(owner, " has trip count ", guard.tripCount, ", expected ",
                  isLoop ? "at least -1" : "-1 for a branch");
    if (guard.varies & ~plan.mesh.proper())
      return fail(owner, " has axis mask ", guard.varies,
                  ", which includes axes of size 1 or outside the mesh");
    if (guard.choices.empty())
      return Status();
    if (isLoop)
      return fail(owner, " is a loop, but only branches may have a per-rank choice table");
    uint64_t places = 1;
    for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
      if (guard.varies >> i & 1)
        places *= static_cast<uint64_t>(plan.mesh.axes[i].size);
    if (guard.choices.size() != places)
      return fail(owner, " has ", guard.choices.size(), " choices, expected one for each of the ",
                  places, " coordinates");
    for (uint32_t choice : guard.choices)
      if (choice >= guard.arms)
        return fail(owner, " chooses arm ", choice, ", but has ", guard.arms, " arms");
    return Status();
  }

  Status checkSite(size_t number, const Site &site) const {
    const std::string owner = concat("site ", number, " '", site.name, "'");
    TILEWRIGHT_TRY(checkPlace(owner, site.guard, site.arm, plan.guards.size()));
    if (site.clique >= plan.cliques.size())
      return fail(owner, " uses clique ", site.clique, ", but the plan has ", plan.cliques.size(),
                  " cliques");
    if ((site.kind == Kind::permute) != (plan.cliques[site.clique].form == CliqueSpec::Form::pairs))
      return fail(owner, " is ", nameOf(site.kind), " with clique '",
                  describe(plan.mesh, plan.cliques[site.clique]),
                  "'; a permute must have pairs, and other collectives must not");
    if (site.bytes < 0 || site.bytes > maxBytes)
      return fail(owner, " exchanges ", site.bytes, " bytes, expected 0 to ", maxBytes);
    if (site.start >= site.done)
      return fail(owner, " starts at position ", site.start, " but is done at position ",
                  site.done);
    if (number > 0 && plan.sites[number - 1].start >= site.start)
      return fail(owner, " starts at position ", site.start,
                  ", which is not after the previous site");
    return Status();
  }

  /// Checks that positions number the whole tree in program order: positions in an arm come after
  /// the guard's position, before those of the next arm, and before everything that follows the
  /// guard.
  Status checkPositions() const {
    struct Mark {
      uint32_t position;
      PlanIndex guard; // the guard that begins here, or nothing
      PlanIndex parent;
      uint32_t arm;
    };
    std::vector<Mark> marks;
    for (PlanIndex i = 0; i < plan.guards.size(); ++i)
      marks.push_back({plan.guards[i].position, i, plan.guards[i].parent, plan.guards[i].arm});
    for (const Site &site : plan.sites) {
      marks.push_back({site.start, nothing, site.guard, site.arm});
      marks.push_back({site.done, nothing, site.guard, site.arm});
    }
    std::sort(marks.begin(), marks.end(),
              [](const Mark &a, const Mark &b) { return a.position < b.position; });
    std::vector<std::pair<PlanIndex, uint32_t>> open; // enclosing guards, their current arms
    for (size_t i = 0; i < marks.size(); ++i) {
      const Mark &mark = marks[i];
      if (i > 0 && marks[i - 1].position == mark.position)
        return fail("two operations are at position ", mark.position);
      while (!open.empty() && open.back().first != mark.parent)
        open.pop_back();
      if (mark.parent != nothing && (open.empty() || mark.arm < open.back().second))
        return fail("the operation at position ", mark.position, " belongs to arm ", mark.arm,
                    " of guard ", mark.parent, ", but comes before or after that arm");
      if (mark.parent != nothing)
        open.back().second = mark.arm;
      if (mark.guard != nothing)
        open.push_back({mark.guard, 0});
    }
    return Status();
  }

  Status checkCollectives() const {
    std::vector<PlanIndex> byCollective(plan.sites.size());
    for (PlanIndex i = 0; i < byCollective.size(); ++i)
      byCollective[i] = i;
    std::sort(byCollective.begin(), byCollective.end(), [&](PlanIndex a, PlanIndex b) {
      return std::pair(plan.sites[a].collectiveId, a) < std::pair(plan.sites[b].collectiveId, b);
    });
    // Sites of a collective are in program order, so it is enough to compare neighbours: a branch
    // that separates two distant sites also separates two neighbours between them.
    for (size_t i = 1; i < byCollective.size(); ++i) {
      const Site &a = plan.sites[byCollective[i - 1]], &b = plan.sites[byCollective[i]];
      if (a.collectiveId != b.collectiveId)
        continue;
      if (a.kind != b.kind || a.clique != b.clique || a.element != b.element ||
          a.bytes != b.bytes || a.reduction != b.reduction || a.lane != b.lane)
        return fail("'", a.name, "' and '", b.name, "' have collective id ", a.collectiveId,
                    " but exchange different data");
      const auto pathA = pathOf(plan, a), pathB = pathOf(plan, b);
      size_t common = 0;
      while (common < pathA.size() && common < pathB.size() && pathA[common] == pathB[common])
        ++common;
      const bool parts = common < pathA.size() && common < pathB.size() &&
                         pathA[common].first == pathB[common].first &&
                         !plan.guards[pathA[common].first].choices.empty();
      if (!parts)
        return fail("'", a.name, "' and '", b.name, "' have collective id ", a.collectiveId,
                    " but are not in different arms of a branch that depends on the rank");
      // A loop evaluates its condition once more than its body, and ranks in another arm would have
      // to match this additional exchange. So a collective with several sites may not be in a
      // condition.
      for (const auto &path : {pathA, pathB})
        for (size_t step = common; step < path.size(); ++step)
          if (plan.guards[path[step].first].kind == Guard::Kind::loop && path[step].second == 0)
            return fail("'", a.name, "' and '", b.name, "' have collective id ", a.collectiveId,
                        " but one is in the condition of a loop");
    }
    return Status();
  }

  const CommPlan &plan;
  int64_t ranks = 1;
  size_t arms = 0; // sum over all guards
  std::vector<size_t> depths;
};

} // namespace

Status checkPlan(const CommPlan &plan) { return Checker(plan).check(); }

} // namespace tilewright::collective
