#include "tilewright/runtime/Communication.h"

#include "tilewright/plan/PlanBytes.h"
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
                     " ranks, but the executable is for ", ranks);
    for (size_t i = 0; i < plan.sites.size(); ++i)
      if (plan.sites[i].collectiveId >= plan.sites.size() || plan.sites[i].collectiveId != i)
        return foreign("site ", i, " of the communication plan has collective id ",
                       plan.sites[i].collectiveId, ", but ids must follow the order of the steps");
    for (const artifact::Block &block : executable.blocks)
      for (const artifact::Step &step : block.steps)
        if (const auto *start = std::get_if<CollectiveStartStep>(&step.action))
          TILEWRIGHT_TRY(compare(*start));
    const auto missing = std::find(isCalled.begin(), isCalled.end(), false);
    if (missing != isCalled.end())
      return foreign("no step of the executable performs ",
                     describe(plan, plan.sites[static_cast<size_t>(missing - isCalled.begin())]));
    return Status();
  }

private:
  Status compare(const CollectiveStartStep &start) {
    if (start.order >= plan.sites.size())
      return foreign("collective ", start.order, " of the executable, ", nameOf(start.kind), ".",
                     start.id, ", is not in the communication plan, which has ", plan.sites.size(),
                     " collectives");
    if (isCalled[start.order])
      return foreign("collective ", start.order, " of the executable, ", nameOf(start.kind), ".",
                     start.id, ", appears twice");
    isCalled[start.order] = true;
    const Site &site = plan.sites[start.order];
    int64_t bytes = 0;
    for (const artifact::Operand &operand : start.operands)
      bytes += operand.slice.bytes;
    if (site.kind != start.kind || site.bytes != bytes)
      return foreign("collective ", start.order, " of the executable is ", nameOf(start.kind),
                     " of ", bytes, " bytes, but the communication plan has ",
                     describe(plan, site));
    std::vector<std::vector<int64_t>> groups = start.groups;
    std::erase_if(groups, [](const auto &group) { return group.empty(); });
    std::sort(groups.begin(), groups.end());
    if (groups != groupsOf(site.clique))
      return foreign(
          "collective ", start.order, " of the executable, ", nameOf(start.kind), ".", start.id,
          ", has different ranks than in the communication plan: ", describe(plan, site));
    return Status();
  }

  /// The groups of a communicator in sorted order; the members of a pair keep their order. Cached,
  /// because few communicators serve many steps.
  const std::vector<std::vector<int64_t>> &groupsOf(collective::PlanIndex number) {
    std::optional<std::vector<std::vector<int64_t>>> &groups = sorted[number];
    if (!groups) {
      const collective::CliqueSpec &clique = plan.cliques[number];
      groups = clique.form == collective::CliqueSpec::Form::axes
                   ? collective::groupsOf(coordinates, clique)
                   : clique.lists;
      std::sort(groups->begin(), groups->end());
    }
    return *groups;
  }

  const artifact::Executable &executable;
  const collective::CommPlan &plan;
  const numerics::MeshCoordinates coordinates;
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
