#include "tilewright/collective/plan/CommPlan.h"

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
        return fail("window ", i, " has ", window.bytes, " bytes at multiples of ",
                    window.alignment, " for clique ", window.clique, " of ", plan.cliques.size());
    }
    TILEWRIGHT_TRY(checkPositions());
    return checkMeetings();
  }

private:
  static constexpr int64_t maxRanks = int64_t(1) << 24, maxBytes = int64_t(1) << 56;
  static constexpr size_t maxNesting = 128, maxArms = size_t(1) << 20;

  template <typename... Parts> static Status fail(const Parts &...parts) {
    return Status(Error::commPlanInvalid,
                  concat("in the communication plan ", parts..., "; compile the program again"));
  }

  Status checkMesh() {
    if (plan.mesh.axes.size() > maxAxes)
      return fail("the mesh has ", plan.mesh.axes.size(), " axes, at most ", maxAxes, " are known");
    ranks = 1;
    std::unordered_set<std::string> names;
    for (const MeshAxis &axis : plan.mesh.axes) {
      if (axis.name.empty() || !names.insert(axis.name).second)
        return fail("two axes of the mesh are called '", axis.name, "', or one has no name");
      if (axis.size < 1 || axis.size > maxRanks / ranks)
        return fail("axis '", axis.name, "' has ", axis.size, " places, and the mesh may have ",
                    maxRanks, " ranks");
      ranks *= axis.size;
    }
    if (plan.mesh.order.empty())
      return Status();
    if (static_cast<int64_t>(plan.mesh.order.size()) != ranks)
      return fail("the mesh has ", ranks, " places and an order of ", plan.mesh.order.size());
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
        return fail(owner, " names rank ", rank, " of ", ranks);
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
          return fail(owner, " has axis ", axis, " of ", plan.mesh.axes.size(), " or has it twice");
        seen |= AxisSet(1) << axis;
      }
      if (!clique.lists.empty())
        return fail(owner, " has axes and also lists of ranks");
      return Status();
    }
    if (!clique.axes.empty())
      return fail(owner, " has lists of ranks and also axes");
    // To an engine no groups at all mean everybody; here that is a clique of all axes.
    if (clique.form == CliqueSpec::Form::groups && clique.lists.empty())
      return fail(owner, " has no groups");
    std::vector<bool> first = seenRanks(), second = seenRanks();
    for (const std::vector<int64_t> &list : clique.lists) {
      if (clique.form == CliqueSpec::Form::groups) {
        TILEWRIGHT_TRY(checkRanks(owner, list, first));
        continue;
      }
      if (list.size() != 2)
        return fail(owner, " has a pair of ", list.size(), " ranks");
      TILEWRIGHT_TRY(checkRanks(owner, std::array{list[0]}, first));
      TILEWRIGHT_TRY(checkRanks(owner, std::array{list[1]}, second));
    }
    return Status();
  }

  /// A place within a guard, or at the top.
  Status checkPlace(const std::string &owner, PlanIndex parent, uint32_t arm, size_t guards) const {
    if (parent == nothing)
      return arm == 0 ? Status() : fail(owner, " is in arm ", arm, " of no guard");
    if (parent >= guards)
      return fail(owner, " is within guard ", parent, ", which is not one of the ", guards,
                  " before it");
    if (arm >= plan.guards[parent].arms)
      return fail(owner, " is in arm ", arm, " of guard ", parent, ", which has ",
                  plan.guards[parent].arms);
    return Status();
  }

  Status checkGuard(size_t number, const Guard &guard) {
    const std::string owner = concat("guard ", number);
    TILEWRIGHT_TRY(checkPlace(owner, guard.parent, guard.arm, number));
    depths.push_back(guard.parent == nothing ? 1 : depths[guard.parent] + 1);
    if (depths.back() > maxNesting)
      return fail(owner, " is nested deeper than ", maxNesting);
    const bool isLoop = guard.kind == Guard::Kind::loop;
    if (isLoop ? guard.arms != 2 : guard.arms < 1 || guard.arms > 1 << 16)
      return fail(owner, " has ", guard.arms, " arms");
    if ((arms += guard.arms) > maxArms)
      return fail("all guards together have more than ", maxArms, " arms");
    if (guard.tripCount < -1 || (!isLoop && guard.tripCount != -1))
      return fail(owner, " has ", guard.tripCount, " turns");
    if (guard.varies & ~plan.mesh.proper())
      return fail(owner, " varies along axes ", guard.varies, ", of which some have one place");
    if (guard.choices.empty())
      return Status();
    if (isLoop)
      return fail(owner, " is a loop with choices");
    uint64_t places = 1;
    for (size_t i = 0; i < plan.mesh.axes.size(); ++i)
      if (guard.varies >> i & 1)
        places *= static_cast<uint64_t>(plan.mesh.axes[i].size);
    if (guard.choices.size() != places)
      return fail(owner, " has ", guard.choices.size(), " choices for ", places, " places");
    for (uint32_t choice : guard.choices)
      if (choice >= guard.arms)
        return fail(owner, " chooses arm ", choice, " of ", guard.arms);
    return Status();
  }

  Status checkSite(size_t number, const Site &site) const {
    const std::string owner = concat("site ", number, " '", site.name, "'");
    TILEWRIGHT_TRY(checkPlace(owner, site.guard, site.arm, plan.guards.size()));
    if (site.clique >= plan.cliques.size())
      return fail(owner, " uses clique ", site.clique, " of ", plan.cliques.size());
    if ((site.kind == Kind::permute) != (plan.cliques[site.clique].form == CliqueSpec::Form::pairs))
      return fail(owner, " is a ", nameOf(site.kind), " of ",
                  describe(plan.mesh, plan.cliques[site.clique]));
    if (site.bytes < 0 || site.bytes > maxBytes)
      return fail(owner, " exchanges ", site.bytes, " bytes");
    if (site.start >= site.done)
      return fail(owner, " begins at ", site.start, " and is done at ", site.done);
    if (number > 0 && plan.sites[number - 1].start >= site.start)
      return fail(owner, " begins at ", site.start, ", not after the one before it");
    return Status();
  }

  /// One numbering of the whole tree: what is in an arm has numbers after the guard's own, before
  /// those of the next arm, and before what follows the guard.
  Status checkPositions() const {
    struct Mark {
      uint32_t position;
      PlanIndex guard; // that opens here, or nothing
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
    std::vector<std::pair<PlanIndex, uint32_t>> open; // guards around, and the arm we are in
    for (size_t i = 0; i < marks.size(); ++i) {
      const Mark &mark = marks[i];
      if (i > 0 && marks[i - 1].position == mark.position)
        return fail("two things are at position ", mark.position);
      while (!open.empty() && open.back().first != mark.parent)
        open.pop_back();
      if (mark.parent != nothing && (open.empty() || mark.arm < open.back().second))
        return fail("position ", mark.position, " lies outside the arm that it belongs to");
      if (mark.parent != nothing)
        open.back().second = mark.arm;
      if (mark.guard != nothing)
        open.push_back({mark.guard, 0});
    }
    return Status();
  }

  Status checkMeetings() const {
    std::vector<PlanIndex> byMeeting(plan.sites.size());
    for (PlanIndex i = 0; i < byMeeting.size(); ++i)
      byMeeting[i] = i;
    std::sort(byMeeting.begin(), byMeeting.end(), [&](PlanIndex a, PlanIndex b) {
      return std::pair(plan.sites[a].meeting, a) < std::pair(plan.sites[b].meeting, b);
    });
    // Places in program order: if each two neighbours part at such a branch, so do all of them,
    // because what parts two that are further apart parts neighbours between them.
    for (size_t i = 1; i < byMeeting.size(); ++i) {
      const Site &a = plan.sites[byMeeting[i - 1]], &b = plan.sites[byMeeting[i]];
      if (a.meeting != b.meeting)
        continue;
      if (a.kind != b.kind || a.clique != b.clique || a.element != b.element ||
          a.bytes != b.bytes || a.reduction != b.reduction || a.lane != b.lane)
        return fail("'", a.name, "' and '", b.name, "' are meeting ", a.meeting,
                    " and exchange different things");
      const auto pathA = pathOf(plan, a), pathB = pathOf(plan, b);
      size_t common = 0;
      while (common < pathA.size() && common < pathB.size() && pathA[common] == pathB[common])
        ++common;
      const bool parts = common < pathA.size() && common < pathB.size() &&
                         pathA[common].first == pathB[common].first &&
                         !plan.guards[pathA[common].first].choices.empty();
      if (!parts)
        return fail("'", a.name, "' and '", b.name, "' are meeting ", a.meeting,
                    " and no branch that the rank decides lies between them");
      // Such a loop runs its condition once more than its body, and nobody counts that for another.
      for (const auto &path : {pathA, pathB})
        for (size_t step = common; step < path.size(); ++step)
          if (plan.guards[path[step].first].kind == Guard::Kind::loop && path[step].second == 0)
            return fail("'", a.name, "' and '", b.name, "' are meeting ", a.meeting,
                        " and one is in the condition of a loop");
    }
    return Status();
  }

  const CommPlan &plan;
  int64_t ranks = 1;
  size_t arms = 0; // of all guards
  std::vector<size_t> depths;
};

} // namespace

Status checkPlan(const CommPlan &plan) { return Checker(plan).check(); }

} // namespace tilewright::collective
