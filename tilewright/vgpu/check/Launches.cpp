#include "tilewright/vgpu/check/Launches.h"

#include <algorithm>
#include <utility>

namespace tilewright::vgpu::check {

static std::atomic<uint64_t> nextId = 1;

std::shared_ptr<LaunchState> Launches::begin(const machine::Grid &grid,
                                             const GlobalMemory &memory) {
  std::lock_guard lock(mutex);
  std::shared_ptr<LaunchState> &launch = running[grid.id];
  if (launch)
    return launch;
  launch = std::make_shared<LaunchState>();
  launch->grid = const_cast<machine::Grid *>(&grid); // lets a check stop the launch
  launch->shape = grid.grid;
  launch->cluster = grid.cluster;
  launch->program = grid.program;
  launch->id = nextId.fetch_add(1);
  launch->device = grid.device;
  launch->order = grid.order;
  launch->all = this;
  launch->allocations = memory.table();
  launch->blockCount = static_cast<uint32_t>(machine::volume(grid.grid));
  // Numbers are reused after four billion blocks: by then all older launches are forgotten.
  if (nextBlock + launch->blockCount < nextBlock)
    nextBlock = 0;
  launch->firstBlock = nextBlock;
  nextBlock += launch->blockCount;
  uint32_t first = 0;
  for (const std::unique_ptr<machine::DecodedFunction> &function : grid.program->functions) {
    const machine::Op *begin = function->code.data();
    launch->ranges.push_back({begin, begin + function->code.size(), first});
    first += static_cast<uint32_t>(function->code.size());
  }
  const bool isAfterAll =
      running.size() == 1 && std::all_of(ended.begin(), ended.end(),
                                         [&](const auto &one) { return launch->isAfter(*one); });
  while (isAfterAll && ended.size() > rememberedBeforeAll)
    forget(ended.front());
  if (launch->order && !isAfterAll)
    inherit(*launch);
  chooseFlags(*launch, isAfterAll);
  byBlock[launch->firstBlock] = launch;
  byId[launch->id] = launch;
  return launch;
}

void Launches::chooseFlags(LaunchState &launch, bool isAfterAll) {
  if (!launch.order)
    flags = std::make_shared<GlobalFlags>();
  else if (isAfterAll && flags->count != 0) {
    auto next = std::make_shared<GlobalFlags>();
    next->firstLaunch = launch.id;
    next->firstOrder = launch.order;
    next->older = std::exchange(flags, next);
  }
  launch.flags = flags;
  bool mayWait = launch.order != nullptr;
  for (std::shared_ptr<GlobalFlags> one = flags; one->older; one = one->older) {
    const bool isFirst = one->firstLaunch == launch.id;
    if (!isFirst && !byId.contains(one->firstLaunch)) {
      one->older = nullptr; // their launches are forgotten
      return;
    }
    mayWait &= !isFirst && !launch.order->isAfter(*one->firstOrder);
    if (mayWait)
      launch.olderFlags.push_back(one->older);
  }
}

void Launches::end(const machine::Grid &grid) {
  std::lock_guard lock(mutex);
  const auto found = running.find(grid.id);
  if (found == running.end())
    return;
  const std::shared_ptr<LaunchState> launch = std::move(found->second);
  running.erase(found);
  launch->grid = nullptr;
  ended.push_back(launch);
  if (!launch->order)
    forget(launch);
  else if (ended.size() > remembered)
    forget(ended.front());
}

void Launches::forget(std::shared_ptr<LaunchState> launch) {
  byBlock.erase(launch->firstBlock);
  byId.erase(launch->id);
  std::erase(ended, launch);
}

std::shared_ptr<LaunchState> Launches::ofBlock(uint32_t block) const {
  std::lock_guard lock(mutex);
  const auto next = byBlock.upper_bound(block);
  if (next == byBlock.begin() || !std::prev(next)->second->owns(block))
    return nullptr;
  return std::prev(next)->second;
}

std::shared_ptr<LaunchState> Launches::withId(uint64_t id) const {
  std::lock_guard lock(mutex);
  const auto found = byId.find(id);
  return found == byId.end() ? nullptr : found->second;
}

bool LaunchState::isAfter(const LaunchState &other) const {
  return !order || !other.order || order->isAfter(*other.order);
}

void LaunchState::learn(const Knowledge &knowledge) {
  if (!knowledge.base.foreignEpochs())
    return;
  std::lock_guard lock(mutex);
  known.joinForeign(knowledge.base.foreignEpochs());
  knownFenced.joinForeign(knowledge.fencedGlobal.foreignEpochs());
}

/// Joins what ended launches that happen before this one know about launches that this one does not
/// itself follow.
void Launches::inherit(LaunchState &launch) {
  auto isUseless = [&](uint32_t block) {
    const auto next = byBlock.upper_bound(block);
    return next == byBlock.begin() || !std::prev(next)->second->owns(block) ||
           launch.isAfter(*std::prev(next)->second);
  };
  auto pruned = [&](const Clock &clock) -> std::shared_ptr<const ForeignEpochs> {
    if (!clock.foreignEpochs())
      return nullptr;
    auto result = std::make_shared<ForeignEpochs>();
    for (const auto &[key, epoch] : *clock.foreignEpochs())
      if (!isUseless(static_cast<uint32_t>(foreignBlock(key))))
        result->emplace(key, epoch);
    return result->empty() ? nullptr : result;
  };
  for (const std::shared_ptr<LaunchState> &before : ended)
    if (launch.isAfter(*before)) {
      std::lock_guard lock(before->mutex);
      launch.inherited.joinForeign(pruned(before->known));
      launch.inheritedFenced.joinForeign(pruned(before->knownFenced));
    }
}

bool LaunchState::areInTwoGroups(uint32_t block, uint32_t other) const {
  if (block == other || !owns(block) || !owns(other))
    return false;
  if (machine::volume(cluster) <= 1)
    return true;
  block -= firstBlock;
  other -= firstBlock;
  for (size_t i = 0, size = 0; i < 3; ++i, block /= size, other /= size) {
    size = shape[i];
    if (block % size / cluster[i] != other % size / cluster[i])
      return true;
  }
  return false;
}

} // namespace tilewright::vgpu::check
