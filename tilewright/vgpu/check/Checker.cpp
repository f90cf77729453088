#include "tilewright/vgpu/check/Checker.h"

#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Multicast.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace tilewright::vgpu::check {

using machine::Grid;
using machine::Group;

static std::atomic<uint64_t> nextSerial = 1;

/// The group that this thread is running; thread-local, so that events need no lock.
namespace {
struct Current {
  uint64_t checker = 0;
  const Group *group = nullptr;
  GroupState *state = nullptr;
  LaunchState *launch = nullptr;
};
} // namespace
static thread_local Current current;

Checker::Checker(const Options &options)
    : settings(options), serial(nextSerial.fetch_add(1)), found(options.limit),
      launches(std::make_unique<Launches>()) {}
Checker::~Checker() = default;

LaunchState &Checker::launchOf(const Grid &grid) { return *launches->begin(grid, global); }

void Checker::launchBegin(const Grid &grid) { launchOf(grid); }

void Checker::launchEnd(const Grid &grid) { launches->end(grid); }

void Checker::groupBegin(const Group &group) {
  LaunchState &launch = launchOf(*group.grid);
  auto state = std::make_unique<GroupState>();
  state->serial = nextSerial.fetch_add(1);
  state->machineGroup = &group;
  state->blocks = std::vector<BlockState>(group.blocks.size());
  const uint64_t threads = machine::volume(group.grid->block);
  uint32_t warps = 0;
  for (size_t i = 0; i < group.blocks.size(); ++i) {
    const machine::Block &from = group.blocks[i];
    BlockState &block = state->blocks[i];
    block.linear = launch.firstBlock + static_cast<uint32_t>(from.linear);
    block.id = from.id;
    block.rank = from.rank;
    block.indexInGroup = static_cast<uint32_t>(i);
    block.cluster = launch.firstBlock + static_cast<uint32_t>(group.blocks[i - from.rank].linear);
    block.memory = from.shared;
    block.sharedBytes = group.grid->sharedBytes;
    block.shared.resize(group.grid->sharedBytes,
                        group.grid->chip->matrix == chips::MatrixUnit::tcgen05);
    block.warps = std::vector<WarpState>(from.warps.size());
    block.log.start(block.warps.size());
    state->byLinear[block.linear] = block.indexInGroup;
    for (uint32_t w = 0; w < block.warps.size(); ++w) {
      WarpState &warp = block.warps[w];
      warp.block = &block;
      warp.index = w;
      warp.groupIndex = warps++;
      warp.allLanes = lanesBelow(static_cast<uint32_t>(threads - 32 * uint64_t(w)));
      warp.cohorts.resize(1);
      warp.cohorts[0].mask = warp.allLanes;
      warp.cohorts[0].knowledge.base.joinForeign(launch.inherited.foreignEpochs());
      warp.cohorts[0].knowledge.fencedGlobal.joinForeign(launch.inheritedFenced.foreignEpochs());
    }
  }
  if (group.blocks.size() < machine::volume(group.grid->grid))
    launch.hasOtherGroups.store(true, std::memory_order_relaxed);
  current = {serial, &group, state.get(), &launch};
  std::lock_guard lock(mutex);
  groups[&group] = std::move(state);
}

void Checker::groupEnd(const Group &group) {
  LaunchState &launch = launchOf(*group.grid);
  GroupState *state = nullptr;
  {
    std::lock_guard lock(mutex);
    if (auto found = groups.find(&group); found != groups.end())
      state = found->second.get();
  }
  if (!state)
    return;
  Detector(settings, found, global, launch, *state).finish();
  for (const BlockState &block : state->blocks)
    for (const WarpState &warp : block.warps)
      for (const Cohort &cohort : warp.cohorts)
        launch.learn(cohort.knowledge);
  current = {};
  std::lock_guard lock(mutex);
  groups.erase(&group);
}

static void attach(const Current &now) { current = now; }

GroupState &Checker::groupOf(const machine::Warp &warp) {
  const Group *group = warp.block->group;
  if (current.checker == serial && current.group == group)
    return *current.state;
  LaunchState &launch = launchOf(*group->grid);
  std::lock_guard lock(mutex);
  attach({serial, group, groups.at(group).get(), &launch});
  return *current.state;
}

/// Calls `check` with the event at the addresses by which accesses are compared. Memory may be
/// mapped at several addresses, and a store to a multicast address is a store to each member.
template <typename Check>
static void withHomes(machine::ValidMemory *valid, const machine::MemoryEvent &event, Check check) {
  if (!valid || !valid->hasHomes()) [[likely]]
    return check(event);
  uint64_t addresses[32] = {};
  auto checkAt = [&](uint32_t mask) {
    machine::MemoryEvent atHome{event.warp, event.op,    mask,        addresses,   event.bytes,
                                event.kind, event.proxy, event.order, event.scope, event.async};
    atHome.values = event.values;
    check(atHome);
  };
  uint32_t single = 0;
  for (uint32_t rest = event.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.addresses[lane];
    const bool isGlobal = (address & machine::windowMask) == 0;
    std::vector<uint64_t> members;
    if (isGlobal && event.kind == machine::AccessKind::write)
      members = machine::multicastMembers(address, event.bytes);
    for (uint64_t member : members) {
      addresses[lane] = member;
      checkAt(1u << lane);
    }
    if (!members.empty())
      continue;
    addresses[lane] = isGlobal ? valid->home(address) : address;
    single |= 1u << lane;
  }
  if (single != 0)
    checkAt(single);
}

void Checker::access(const machine::MemoryEvent &event) {
  GroupState &group = groupOf(event.warp);
  Detector detector(settings, found, global, *current.launch, group);
  withHomes(current.launch->grid->validMemory.get(), event,
            [&](const machine::MemoryEvent &one) { detector.access(one); });
}

void Checker::valueRead(const machine::MemoryEvent &event) {
  GroupState &group = groupOf(event.warp);
  Detector detector(settings, found, global, *current.launch, group);
  withHomes(current.launch->grid->validMemory.get(), event,
            [&](const machine::MemoryEvent &one) { detector.valueRead(one); });
}

machine::SharedReads *Checker::sharedReads(const machine::Block &block) {
  GroupState &group = groupOf(block.warps.front());
  const auto index = static_cast<size_t>(&block - block.group->blocks.data());
  return &group.blocks[index].log.reads;
}

void Checker::synchronise(const machine::SyncEvent &event) {
  GroupState &group = groupOf(event.warp);
  Detector(settings, found, global, *current.launch, group).synchronise(event);
}

void Checker::accessInFlight(const machine::Warp &warp, const machine::Op *op, uint32_t mask,
                             uint32_t, machine::AsyncId operation) {
  GroupState &group = groupOf(warp);
  Detector(settings, found, global, *current.launch, group)
      .accessInFlight(warp, op, mask, operation);
}

void Checker::hazard(const machine::HazardEvent &event) {
  GroupState &group = groupOf(event.warp);
  Detector(settings, found, global, *current.launch, group).hazard(event);
}

} // namespace tilewright::vgpu::check
