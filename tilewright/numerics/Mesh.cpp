#include "tilewright/numerics/Mesh.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <utility>

namespace tilewright::numerics {

/// The maximum number of ranks; a program with more is assumed to contain a mistake.
static constexpr int64_t maxRanks = 4096;

/// Orders the sub-axes of an axis from its outermost factor to its innermost.
static bool isBefore(const AxisRef &one, const AxisRef &other) {
  return std::pair(one.preSize, one.size) < std::pair(other.preSize, other.size);
}

bool overlap(const AxisRef &one, const AxisRef &other) {
  if (one.axis != other.axis)
    return false;
  const auto &[first, second] = std::minmax(one, other, isBefore);
  return second.preSize % (first.preSize * first.size) != 0;
}

int64_t Mesh::size() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

AxisSet Mesh::proper() const {
  AxisSet set = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].size > 1)
      set |= AxisSet(1) << i;
  return set;
}

Result<AxisRef> Mesh::axis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return AxisRef{i, 1, axes[i].size};
  return Status(Error::interpretGroups, concat("the mesh has no axis '", name, "'"));
}

Result<AxisRef> Mesh::axis(std::string_view name, int64_t preSize, int64_t size) const {
  TILEWRIGHT_ASSIGN(AxisRef ref, axis(name));
  int64_t product;
  if (preSize < 1 || size < 1 || __builtin_mul_overflow(preSize, size, &product) ||
      ref.size % product != 0)
    return Status(Error::interpretGroups,
                  concat("sub-axis (", preSize, ")", size, " does not divide axis '", name,
                         "' of size ", ref.size));
  return AxisRef{ref.axis, preSize, size};
}

MeshCoordinates::MeshCoordinates(Mesh mesh)
    : grid(std::move(mesh)), count(grid.size()), strides(grid.axes.size(), 1),
      positions(grid.order.size()) {
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * grid.axes[i].size;
  for (size_t position = 0; position < positions.size(); ++position)
    positions[static_cast<size_t>(grid.order[position])] = static_cast<int64_t>(position);
}

Result<MeshCoordinates> MeshCoordinates::create(std::vector<MeshAxis> axes,
                                                std::vector<int64_t> order) {
  int64_t count = 1;
  for (const MeshAxis &axis : axes)
    if (axis.size < 1 || __builtin_mul_overflow(count, axis.size, &count) || count > maxRanks)
      return Status(Error::interpretGroups,
                    concat("a mesh must have 1 to ", maxRanks, " devices; axis '", axis.name,
                           "' of size ", axis.size, " puts the mesh outside this range"));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool isPermutation = order.empty() || static_cast<int64_t>(order.size()) == count;
  for (size_t i = 0; i < sorted.size(); ++i)
    isPermutation &= sorted[i] == static_cast<int64_t>(i);
  if (!isPermutation)
    return Status(Error::interpretGroups, concat("device ids must be a permutation of 0 to ",
                                                 count - 1, ", got ", listed(order)));
  return MeshCoordinates(Mesh{std::move(axes), std::move(order)});
}

int64_t MeshCoordinates::along(AxisSet axes, int64_t rank) const {
  const int64_t position = positionOf(rank);
  int64_t index = 0;
  for (size_t i = 0; axes >> i; ++i)
    if (axes >> i & 1)
      index = index * grid.axes[i].size + coordinate(i, position);
  return index;
}

int64_t MeshCoordinates::along(std::span<const AxisRef> axes, int64_t rank) const {
  const int64_t position = positionOf(rank);
  int64_t index = 0;
  for (const AxisRef &ref : axes) {
    const int64_t below = grid.axes[ref.axis].size / (ref.preSize * ref.size);
    index = index * ref.size + coordinate(ref.axis, position) / below % ref.size;
  }
  return index;
}

std::vector<std::vector<int64_t>>
MeshCoordinates::groupsAlong(std::span<const AxisRef> axes) const {
  /// Coordinates along a part of an axis: `size` of them, `stride` positions apart.
  struct Digit {
    int64_t size, stride;
  };
  std::vector<Digit> inside;
  std::vector<std::vector<AxisRef>> used(grid.axes.size());
  for (const AxisRef &ref : axes) {
    std::vector<AxisRef> &before = used[ref.axis];
    if (std::any_of(before.begin(), before.end(),
                    [&](const AxisRef &other) { return overlap(ref, other); }))
      continue;
    before.push_back(ref);
    const int64_t below = grid.axes[ref.axis].size / (ref.preSize * ref.size);
    inside.push_back({ref.size, below * strides[ref.axis]});
  }
  // The factors of each axis that no sub-axis covers, outermost first.
  std::vector<Digit> outside;
  for (size_t axis = 0; axis < used.size(); ++axis) {
    std::sort(used[axis].begin(), used[axis].end(), isBefore);
    int64_t covered = 1; // the product of the factors so far
    auto leave = [&](int64_t upTo) {
      if (upTo > covered)
        outside.push_back({upTo / covered, grid.axes[axis].size / upTo * strides[axis]});
    };
    for (const AxisRef &ref : used[axis]) {
      leave(ref.preSize);
      covered = ref.preSize * ref.size;
    }
    leave(grid.axes[axis].size);
  }
  auto positionsOf = [](const std::vector<Digit> &digits) {
    std::vector<int64_t> found = {0};
    for (const Digit &digit : digits) {
      std::vector<int64_t> wider;
      wider.reserve(found.size() * static_cast<size_t>(digit.size));
      for (int64_t position : found)
        for (int64_t i = 0; i < digit.size; ++i)
          wider.push_back(position + i * digit.stride);
      found = std::move(wider);
    }
    return found;
  };
  // Offsets of a group's members from its first member, and the first members of all groups.
  const std::vector<int64_t> offsets = positionsOf(inside), begins = positionsOf(outside);
  std::vector<std::vector<int64_t>> groups;
  groups.reserve(begins.size());
  for (int64_t begin : begins) {
    std::vector<int64_t> &group = groups.emplace_back();
    group.reserve(offsets.size());
    for (int64_t offset : offsets)
      group.push_back(rankAt(begin + offset));
  }
  return groups;
}

} // namespace tilewright::numerics
