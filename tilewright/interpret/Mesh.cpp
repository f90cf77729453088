#include "tilewright/interpret/Mesh.h"

#include "tilewright/support/Concat.h"

#include <map>
#include <numeric>

namespace tilewright::interpret {

/// More simulated devices than this are assumed to be a mistake in the program.
static constexpr int64_t maxDevices = 4096;

Result<Mesh> Mesh::create(std::vector<Axis> axes, std::vector<int64_t> deviceIds) {
  Mesh mesh;
  int64_t count = 1;
  for (const Axis &axis : axes)
    if (axis.size < 1 || __builtin_mul_overflow(count, axis.size, &count) || count > maxDevices)
      return Status(Error::interpretGroups,
                    concat("a mesh must have 1 to ", maxDevices, " devices; axis '", axis.name,
                           "' of size ", axis.size, " puts the mesh outside this range"));
  if (deviceIds.empty()) {
    deviceIds.resize(static_cast<size_t>(count));
    std::iota(deviceIds.begin(), deviceIds.end(), 0);
  }
  mesh.positionById.assign(static_cast<size_t>(count), -1);
  for (size_t position = 0; position < deviceIds.size(); ++position) {
    const int64_t id = deviceIds[position];
    if (static_cast<int64_t>(deviceIds.size()) != count || id < 0 || id >= count ||
        mesh.positionById[static_cast<size_t>(id)] != -1)
      return Status(Error::interpretGroups, concat("device ids must be a permutation of 0 to ",
                                                   count - 1, ", got ", listed(deviceIds)));
    mesh.positionById[static_cast<size_t>(id)] = static_cast<int64_t>(position);
  }
  mesh.axes = std::move(axes);
  mesh.ids = std::move(deviceIds);
  return mesh;
}

Result<Mesh::AxisRef> Mesh::axis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return AxisRef{i, 1, axes[i].size};
  return Status(Error::interpretGroups, concat("the mesh has no axis '", name, "'"));
}

Result<Mesh::AxisRef> Mesh::axis(std::string_view name, int64_t preSize, int64_t size) const {
  TILEWRIGHT_ASSIGN(AxisRef ref, axis(name));
  int64_t product;
  if (preSize < 1 || size < 1 || __builtin_mul_overflow(preSize, size, &product) ||
      ref.size % product != 0)
    return Status(Error::interpretGroups,
                  concat("sub-axis (", preSize, ")", size, " does not divide axis '", name,
                         "' of size ", ref.size));
  return AxisRef{ref.axis, preSize, size};
}

std::vector<int64_t> Mesh::coordinatesOf(int64_t device) const {
  std::vector<int64_t> coordinates(axes.size());
  int64_t position = positionById[static_cast<size_t>(device)];
  for (size_t i = axes.size(); i > 0; --i) {
    coordinates[i - 1] = position % axes[i - 1].size;
    position /= axes[i - 1].size;
  }
  return coordinates;
}

int64_t Mesh::positionAlong(std::span<const AxisRef> refs, int64_t device) const {
  const std::vector<int64_t> coordinates = coordinatesOf(device);
  int64_t position = 0;
  for (const AxisRef &ref : refs) {
    const int64_t below = axes[ref.axis].size / (ref.preSize * ref.size);
    position = position * ref.size + coordinates[ref.axis] / below % ref.size;
  }
  return position;
}

std::vector<std::vector<int64_t>> Mesh::groupsAlong(std::span<const AxisRef> refs) const {
  // Devices that agree in all coordinates except those along `refs` form a group.
  std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> groups;
  for (int64_t device : ids) {
    std::vector<int64_t> rest = coordinatesOf(device);
    for (const AxisRef &ref : refs) {
      const int64_t below = axes[ref.axis].size / (ref.preSize * ref.size);
      rest[ref.axis] -= rest[ref.axis] / below % ref.size * below;
    }
    groups[rest][positionAlong(refs, device)] = device;
  }
  std::vector<std::vector<int64_t>> lists;
  for (const auto &[rest, members] : groups) {
    lists.emplace_back();
    for (const auto &[position, device] : members)
      lists.back().push_back(device);
  }
  return lists;
}

} // namespace tilewright::interpret
