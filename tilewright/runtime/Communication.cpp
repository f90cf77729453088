#include "tilewright/runtime/Communication.h"

#include "tilewright/collective/plan/PlanBytes.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::runtime {
namespace {

using artifact::CollectiveStartStep;
using collective::Site;

template <typename... Parts> Status foreign(const Parts &...parts) {
  return Status(Error::commPlanForeign, concat(parts..., "; compile the program again"));
}

class Comparison {
public:
  Comparison(const artifact::Executable &executable, const collective::CommPlan &plan)
      : executable(executable), plan(plan), coordinates(plan.mesh), sorted(plan.cliques.size()),
        isCalled(plan.sites.size()) {}

  Status run() {
    if (const int64_t ranks = executable.replicas * executable.partitions;
        plan.mesh.size() != ranks)
      return foreign("the communication plan is for ", plan.mesh.size(),
                     " ranks, the executable for ", ranks);
    for (size_t i = 0; i < plan.sites.size(); ++i)
      if (plan.sites[i].meeting >= plan.sites.size() || plan.sites[i].meeting != i)
        return foreign("site ", i, " of the communication plan is meeting ", plan.sites[i].meeting,
                       ", and steps are numbered in order");
    for (const artifact::Block &block : executable.blocks)
      for (const artifact::Step &step : block.steps)
        if (const auto *start = std::get_if<CollectiveStartStep>(&step.action))
          TILEWRIGHT_TRY(compare(*start));
    const auto missing = std::find(isCalled.begin(), isCalled.end(), false);
    if (missing != isCalled.end())
      return foreign("no step of the executable does ",
                     describe(plan, plan.sites[static_cast<size_t>(missing - isCalled.begin())]));
    return Status();
  }

private:
  Status compare(const CollectiveStartStep &start) {
    if (start.order >= plan.sites.size() || isCalled[start.order])
      return foreign("collective ", start.order, " of the executable, ", start.kind, ".", start.id,
                     ", is not one of the ", plan.sites.size(),
                     " of the communication plan, or comes twice");
    isCalled[start.order] = true;
    const Site &site = plan.sites[start.order];
    int64_t bytes = 0;
    for (const artifact::Operand &operand : start.operands)
      bytes += operand.slice.bytes;
    if (nameOf(site.kind) != start.kind || site.bytes != bytes)
      return foreign("collective ", start.order, " of the executable is ", start.kind, " of ",
                     bytes, " bytes, and the communication plan has ", describe(plan, site));
    std::vector<std::vector<int64_t>> groups = start.groups;
    std::erase_if(groups, [](const auto &group) { return group.empty(); });
    std::sort(groups.begin(), groups.end());
    if (groups != groupsOf(site.clique))
      return foreign("collective ", start.order, " of the executable, ", start.kind, ".", start.id,
                     ", is between other ranks than the communication plan's ",
                     describe(plan, site));
    return Status();
  }

  /// Sorted, as lists: pairs stay pairs. Once for each clique, of which there are few.
  const std::vector<std::vector<int64_t>> &groupsOf(collective::PlanIndex number) {
    std::optional<std::vector<std::vector<int64_t>>> &groups = sorted[number];
    if (!groups) {
      const collective::Clique &clique = plan.cliques[number];
      groups = clique.form == collective::Clique::Form::axes ? coordinates.groupsOf(clique)
                                                             : clique.lists;
      std::sort(groups->begin(), groups->end());
    }
    return *groups;
  }

  const artifact::Executable &executable;
  const collective::CommPlan &plan;
  const collective::Coordinates coordinates;
  std::vector<std::optional<std::vector<std::vector<int64_t>>>> sorted; // by clique
  std::vector<bool> isCalled;                                           // by site
};

} // namespace

Result<std::optional<collective::CommPlan>>
communicationOf(const artifact::Executable &executable) {
  if (executable.communication.empty())
    return std::optional<collective::CommPlan>();
  TILEWRIGHT_ASSIGN(collective::CommPlan plan, collective::readPlan(executable.communication));
  TILEWRIGHT_TRY(Comparison(executable, plan).run());
  return std::optional(std::move(plan));
}

} // namespace tilewright::runtime
