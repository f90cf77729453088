#include "tilewright/plan/CommPlan.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective {

int64_t RankMesh::size() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

AxisSet RankMesh::proper() const {
  AxisSet set = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].size > 1)
      set |= AxisSet(1) << i;
  return set;
}

Coordinates::Coordinates(const RankMesh &mesh) : mesh(mesh), count(mesh.size()) {
  strides.resize(mesh.axes.size(), 1);
  for (size_t i = mesh.axes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * mesh.axes[i].size;
  placeOf.resize(mesh.order.size());
  for (size_t place = 0; place < mesh.order.size(); ++place)
    placeOf[static_cast<size_t>(mesh.order[place])] = static_cast<int64_t>(place);
}

uint32_t Coordinates::along(AxisSet axes, int64_t rank) const {
  const int64_t place = placeOf.empty() ? rank : placeOf[static_cast<size_t>(rank)];
  int64_t index = 0;
  for (size_t i = 0; axes >> i; ++i)
    if (axes >> i & 1)
      index = index * mesh.axes[i].size + place / strides[i] % mesh.axes[i].size;
  return static_cast<uint32_t>(index);
}

std::vector<std::vector<int64_t>> Coordinates::groupsOf(const CliqueSpec &clique) const {
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
  // Offsets of a group's members from its first member, and the first members of all groups.
  std::vector<int64_t> offsets = {0}, begins = {0};
  auto spread = [&](std::vector<int64_t> &places, size_t axis) {
    std::vector<int64_t> wider;
    for (int64_t place : places)
      for (int64_t i = 0; i < mesh.axes[axis].size; ++i)
        wider.push_back(place + i * strides[axis]);
    places = std::move(wider);
  };
  AxisSet inside = 0;
  for (uint8_t axis : clique.axes) {
    spread(offsets, axis);
    inside |= AxisSet(1) << axis;
  }
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (!(inside >> axis & 1))
      spread(begins, axis);
  std::vector<std::vector<int64_t>> groups;
  for (int64_t begin : begins) {
    std::vector<int64_t> &group = groups.emplace_back();
    for (int64_t offset : offsets) {
      const auto place = static_cast<size_t>(begin + offset);
      group.push_back(mesh.order.empty() ? static_cast<int64_t>(place) : mesh.order[place]);
    }
  }
  return groups;
}

/// The axes, outermost first, that generate these positions; empty if no set of axes does.
static std::optional<std::vector<uint8_t>> axesOfRow(const RankMesh &mesh,
                                                     const std::vector<int64_t> &places) {
  std::vector<int64_t> strides(mesh.axes.size(), 1);
  for (size_t i = mesh.axes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * mesh.axes[i].size;
  std::vector<uint8_t> axes;
  AxisSet used = 0;
  // Finds the innermost axis first: its stride is the distance between consecutive members.
  size_t width = 1;
  while (width < places.size()) {
    const int64_t stride = places[width] - places[0];
    size_t found = mesh.axes.size();
    for (size_t i = 0; i < mesh.axes.size(); ++i)
      if (strides[i] == stride && mesh.axes[i].size > 1 && !(used >> i & 1))
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

CliqueSpec cliqueSpecOf(const RankMesh &mesh, std::vector<std::vector<int64_t>> groups) {
  CliqueSpec lists{CliqueSpec::Form::groups, {}, std::move(groups)};
  if (lists.lists.empty()) {
    lists.form = CliqueSpec::Form::axes;
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      lists.axes.push_back(static_cast<uint8_t>(axis));
    return lists;
  }
  const Coordinates coordinates(mesh);
  std::vector<int64_t> first;
  for (int64_t rank : lists.lists[0]) {
    if (rank < 0 || rank >= mesh.size())
      return lists;
    first.push_back(coordinates.along(mesh.proper(), rank));
  }
  std::optional<std::vector<uint8_t>> axes = axesOfRow(mesh, first);
  if (!axes)
    return lists;
  CliqueSpec made{CliqueSpec::Form::axes, *std::move(axes), {}};
  std::vector<std::vector<int64_t>> generated = coordinates.groupsOf(made), given = lists.lists;
  std::sort(generated.begin(), generated.end());
  std::sort(given.begin(), given.end());
  return generated == given ? made : lists;
}

std::string nameOf(const RankMesh &mesh, AxisSet axes) {
  std::string text;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (axes >> i & 1)
      text += concat(text.empty() ? "" : ", ", mesh.axes[i].name);
  return text;
}

std::string describe(const RankMesh &mesh) {
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    text += concat(text.empty() ? "" : ", ", axis.name, "=", axis.size);
  return text.empty() ? "one rank" : text;
}

std::string describe(const RankMesh &mesh, const CliqueSpec &clique) {
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
