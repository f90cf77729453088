#include "tilewright/collective/Clique.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::collective {

Result<std::optional<Clique>> cliqueOf(const Call &call, int64_t rank, int64_t ranks) {
  std::optional<Clique> mine;
  std::vector<int> seen(static_cast<size_t>(ranks)), sends(static_cast<size_t>(ranks));
  Clique everybody;
  for (const std::vector<int64_t> &group : *call.groups) {
    if (call.kind == Kind::permute && group.size() != 2)
      return Status(Error::collectiveGroups,
                    concat("'", call.name, "' has a source-target pair of ", group.size(),
                           " ranks; it must have 2"));
    for (size_t i = 0; i < group.size(); ++i) {
      const int64_t member = group[i];
      if (member < 0 || member >= ranks)
        return Status(Error::collectiveGroups, concat("'", call.name, "' names rank ", member,
                                                      ", but the run has ", ranks, " ranks"));
      const bool isSource = call.kind == Kind::permute && i == 0;
      if (++(isSource ? sends : seen)[static_cast<size_t>(member)] > 1)
        return Status(Error::collectiveGroups,
                      concat("'", call.name, "' names rank ", member, " twice"));
      everybody.push_back(member);
    }
    if (call.kind != Kind::permute && std::find(group.begin(), group.end(), rank) != group.end())
      mine = group;
  }
  if (call.kind == Kind::permute) {
    std::sort(everybody.begin(), everybody.end());
    everybody.erase(std::unique(everybody.begin(), everybody.end()), everybody.end());
    if (std::binary_search(everybody.begin(), everybody.end(), rank))
      mine = std::move(everybody);
  } else if (call.groups->empty()) {
    mine.emplace();
    for (int64_t member = 0; member < ranks; ++member)
      mine->push_back(member);
  }
  if (!mine && call.kind != Kind::permute && call.kind != Kind::broadcast)
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "' has no group that contains rank ", rank));
  return mine;
}

bool agree(const Call &a, const Call &b) {
  if (a.kind != b.kind || a.order != b.order || a.dimension != b.dimension ||
      a.splitDimension != b.splitDimension || a.tensors.size() != b.tensors.size() ||
      a.reduction.operation != b.reduction.operation || a.ragged.size() != b.ragged.size())
    return false;
  for (size_t i = 0; i < a.tensors.size(); ++i)
    if (a.tensors[i].element != b.tensors[i].element ||
        (a.kind != Kind::raggedAllToAll && a.tensors[i].inDims != b.tensors[i].inDims))
      return false;
  return true;
}

/// Mixes a number into the hash: the multiplication carries low bits up, the shift carries high
/// bits down.
static uint64_t mix(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

uint64_t hashOf(std::span<const int64_t> numbers, uint64_t seed) {
  uint64_t hash = mix(seed, numbers.size());
  for (int64_t number : numbers)
    hash = mix(hash, static_cast<uint64_t>(number));
  return mix(hash, 0x5bd1);
}

uint64_t siteHash(const Call &call) {
  uint64_t hash = mix(static_cast<uint64_t>(call.kind), call.order);
  hash = mix(hash, static_cast<uint64_t>(call.dimension));
  hash = mix(hash, static_cast<uint64_t>(call.splitDimension));
  hash = mix(hash, call.ragged.size());
  hash = mix(hash, static_cast<uint64_t>(call.reduction.operation));
  for (const Tensor &tensor : call.tensors) {
    hash = mix(hash, static_cast<uint64_t>(tensor.element));
    if (call.kind != Kind::raggedAllToAll)
      hash = hashOf(tensor.inDims, hash);
  }
  return mix(hash, call.tensors.size());
}

std::string describe(const Call &call) {
  std::string text = concat("'", call.name, "' (", nameOf(call.kind), ", order ", call.order, ")");
  if (!call.tensors.empty())
    text +=
        concat(" of ", numerics::spelling(call.tensors[0].element), listed(call.tensors[0].inDims));
  return call.place.empty() ? text : concat(text, " at ", call.place);
}

Status mismatch(int64_t rank, std::string_view theirs, int64_t other, std::string_view others) {
  return Status(Error::collectiveMismatch,
                concat("rank ", rank, " called ", theirs, " where rank ", other, " called ", others,
                       "; the ranks do not run the same program"));
}

} // namespace tilewright::collective
