#include "tilewright/vgpu/check/Launches.h"

#include <algorithm>

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
  // Numbers are used again after four billion blocks: by then all older launches are forgotten.
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
  // A launch after everything else needs no older flags, and neither do the launches after it.
  const bool isAlone =
      running.size() == 1 && std::all_of(ended.begin(), ended.end(),
                                         [&](const auto &one) { return launch->isAfter(*one); });
  if (isAlone || !launch->order)
    flags = std::make_shared<GlobalFlags>();
  if (isAlone)
    while (!ended.empty())
      forget(ended.front());
  launch->flags = flags;
  byBlock[launch->firstBlock] = launch;
  byId[launch->id] = launch;
  return launch;
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
  if (!order || !other.order || order->isAfter(*other.order))
    return true;
  std::lock_guard lock(other.mutex);
  return std::any_of(other.readers.begin(), other.readers.end(), [&](const auto &one) {
    const std::shared_ptr<const LaunchState> reader = one.lock();
    return reader && reader.get() != this && order->isAfter(*reader->order);
  });
}

bool LaunchState::addReader(const std::shared_ptr<const LaunchState> &reader) {
  std::lock_guard lock(mutex);
  const bool isKnown = std::any_of(readers.begin(), readers.end(),
                                   [&](const auto &one) { return one.lock() == reader; });
  if (!isKnown)
    readers.push_back(reader);
  return !isKnown;
}

void LaunchState::meet(const LaunchState &other) {
  auto &launch = const_cast<LaunchState &>(other); // the readers are not part of its value
  if (!launch.addReader(shared_from_this()) || !other.order)
    return;
  for (const std::shared_ptr<LaunchState> &before : all->before(*other.order))
    before->addReader(shared_from_this());
}

std::vector<std::shared_ptr<LaunchState>> Launches::before(const machine::HostOrder &order) const {
  std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<LaunchState>> result;
  for (const std::shared_ptr<LaunchState> &launch : ended)
    if (launch->order && order.isAfter(*launch->order))
      result.push_back(launch);
  return result;
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
