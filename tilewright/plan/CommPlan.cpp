#include "tilewright/plan/CommPlan.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective {

std::vector<std::vector<int64_t>> groupsOf(const MeshCoordinates &coordinates,
                                           const CliqueSpec &clique) {
  if (clique.form == CliqueSpec::Form::groups)
    return clique.lists;
  if (clique.form == CliqueSpec::Form::pairs) {
    std::vector<int64_t> all;
    for (const std::vector<int64_t> &pair : clique.lists)
      all.insert(all.end(), pair.begin(), pair.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.empty())
      return {};
    return {std::move(all)};
  }
  std::vector<numerics::AxisRef> axes;
  for (uint8_t axis : clique.axes)
    axes.push_back({axis, 1, coordinates.mesh().axes[axis].size});
  return coordinates.groupsAlong(axes);
}

/// The axes, outermost first, that generate these positions; empty if no set of axes does.
static std::optional<std::vector<uint8_t>> axesOfRow(const MeshCoordinates &coordinates,
                                                     const std::vector<int64_t> &places) {
  const Mesh &mesh = coordinates.mesh();
  std::vector<uint8_t> axes;
  AxisSet used = 0;
  // Finds the innermost axis first: its stride is the distance between consecutive members.
  size_t width = 1;
  while (width < places.size()) {
    const int64_t stride = places[width] - places[0];
    size_t found = mesh.axes.size();
    for (size_t i = 0; i < mesh.axes.size(); ++i)
      if (coordinates.stride(i) == stride && mesh.axes[i].size > 1 && !(used >> i & 1))
        found = i;
    if (found == mesh.axes.size())
      return std::nullopt;
    used |= AxisSet(1) << found;
    axes.insert(axes.begin(), static_cast<uint8_t>(found));
    width *= static_cast<size_t>(mesh.axes[found].size);
  }
  if (width != places.size())
    return std::nullopt;
  return axes;
}

CliqueSpec cliqueSpecOf(const Mesh &mesh, std::vector<std::vector<int64_t>> groups) {
  CliqueSpec lists{CliqueSpec::Form::groups, {}, std::move(groups)};
  if (lists.lists.empty()) {
    lists.form = CliqueSpec::Form::axes;
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      lists.axes.push_back(static_cast<uint8_t>(axis));
    return lists;
  }
  const MeshCoordinates coordinates(mesh);
  std::vector<int64_t> first;
  for (int64_t rank : lists.lists[0]) {
    if (rank < 0 || rank >= mesh.size())
      return lists;
    first.push_back(coordinates.along(mesh.proper(), rank));
  }
  std::optional<std::vector<uint8_t>> axes = axesOfRow(coordinates, first);
  if (!axes)
    return lists;
  CliqueSpec made{CliqueSpec::Form::axes, *std::move(axes), {}};
  std::vector<std::vector<int64_t>> generated = groupsOf(coordinates, made), given = lists.lists;
  std::sort(generated.begin(), generated.end());
  std::sort(given.begin(), given.end());
  return generated == given ? made : lists;
}

std::string nameOf(const Mesh &mesh, AxisSet axes) {
  std::string text;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (axes >> i & 1)
      text += concat(text.empty() ? "" : ", ", mesh.axes[i].name);
  return text;
}

std::string describe(const Mesh &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += concat(text.empty() ? "" : ", ", axis.name, "=", axis.size);
  return text.empty() ? "one rank" : text;
}

std::string describe(const Mesh &mesh, const CliqueSpec &clique) {
  if (clique.form == CliqueSpec::Form::pairs)
    return concat(clique.lists.size(), clique.lists.size() == 1 ? " pair" : " pairs");
  if (clique.form == CliqueSpec::Form::groups) {
    if (clique.lists.size() == 1 && clique.lists[0].size() <= 8)
      return concat("ranks ", listed(clique.lists[0]));
    return concat(clique.lists.size(), " groups of ranks");
  }
  if (clique.axes.empty())
    return "each rank alone";
  std::string text;
  for (uint8_t axis : clique.axes)
    text += concat(text.empty() ? "along " : ", ", mesh.axes[axis].name);
  return text;
}

std::string describe(const CommPlan &plan, const Site &site) {
  std::string text =
      concat(site.name, " (", nameOf(site.reduction),
             site.reduction == ReductionKind::none ? "" : " ", numerics::spelling(site.element),
             ", ", site.bytes, " bytes, ", describe(plan.mesh, plan.cliques[site.clique]), ")");
  if (!site.location.empty())
    text += concat(" at ", site.location);
  return text;
}

GuardPath pathOf(const CommPlan &plan, const Site &site) {
  GuardPath path;
  uint32_t arm = site.arm;
  for (PlanIndex guard = site.guard; guard != nothing; guard = plan.guards[guard].parent) {
    path.push_back({guard, arm});
    arm = plan.guards[guard].arm;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace tilewright::collective
