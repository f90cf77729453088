#include "tilewright/vgpu/machine/Deadlock.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace tilewright::vgpu::machine {

/// The maximum number of groups of lanes that are listed individually; further groups are only
/// counted.
static constexpr size_t maxNamed = 20;

static std::string describeLocation(const Warp &warp, uint32_t mask, const Op *op) {
  return concat("block ", listed(warp.block->id), " warp ", warp.index, " lanes ", hexNumber(mask),
                " at ", describePosition(*warp.block->group->grid->program, op));
}

/// For example "warps 0, 2" or "no warp".
static std::string warpsOf(uint32_t bits) {
  if (bits == 0)
    return "no warp";
  std::string text = std::has_single_bit(bits) ? "warp " : "warps ";
  for (uint32_t rest = bits; rest != 0; rest &= rest - 1)
    text += concat(rest == bits ? "" : ", ", std::countr_zero(rest));
  return text;
}

static std::string describeNamed(const Block &block, unsigned number) {
  const NamedBarrier &barrier = block.barriers[number];
  const uint32_t expected =
      barrier.expected ? (barrier.expected + 31) / 32 : static_cast<uint32_t>(block.liveWarps);
  std::string text = concat("for barrier ", number, ", where ", barrier.arrived, " of ", expected,
                            " warps have arrived (", warpsOf(barrier.warps), ")");
  uint32_t missing = 0, exited = 0;
  for (const Warp &warp : block.warps) {
    if (barrier.warps >> warp.index & 1)
      continue;
    (warp.alive ? missing : exited) |= 1u << warp.index;
  }
  for (const Warp &warp : block.warps)
    if (warp.index < barrier.lanes.size() && barrier.lanes[warp.index] != 0)
      text +=
          concat("; only lanes ", hexNumber(barrier.lanes[warp.index]), " of warp ", warp.index);
  text += concat("; missing: ", warpsOf(missing));
  if (exited)
    text += concat("; ", warpsOf(exited), " exited");
  return text + ",";
}

static std::string describeCluster(const Warp &waiting, const Group &group) {
  const Block &block = *waiting.block;
  uint32_t alive = 0, arrived = 0;
  std::string missing;
  const uint64_t blocks = volume(group.grid->cluster);
  for (uint64_t i = 0; i < blocks; ++i)
    for (const Warp &warp : group.blocks[block.clusterBase + i].warps) {
      alive += static_cast<uint32_t>(std::popcount(warp.alive));
      arrived += static_cast<uint32_t>(std::popcount(warp.alive & warp.clusterArrived));
      if (warp.alive & ~warp.clusterArrived)
        missing += concat(missing.empty() ? "" : ", ", "warp ", warp.index, " of block ",
                          listed(warp.block->id));
    }
  return concat("for the barrier of their cluster, where ", arrived, " of ", alive,
                " threads have arrived; missing: ", missing.empty() ? "none" : missing, ",");
}

static std::string describeMbarrier(const Group &group, const Fragment &fragment) {
  const auto *where = reinterpret_cast<const std::byte *>(fragment.object);
  const Mbarrier barrier = Mbarrier::load(where);
  const MbarrierRecord *record = group.async ? group.async->findRecord(where) : nullptr;
  std::string text;
  if (record)
    text = concat("for phase ", record->phase, " (parity ", barrier.phase & 1, ")");
  else
    text = concat("for phase parity ", barrier.phase & 1);
  text +=
      concat(" of the mbarrier at offset ", fragment.address & sharedOffsetMask,
             " of the shared memory of cluster rank ",
             ((fragment.address & 0xff000000u) >> sharedOffsetBits) - 1, ", which has received ",
             barrier.expected - barrier.pending, " of ", barrier.expected, " arrivals");
  if (barrier.expected == 0)
    text += " (it was never initialised, or was invalidated)";
  if (barrier.bytes > 0)
    text +=
        concat(" and waits for ", barrier.bytes, " bytes that no operation in flight will deliver");
  if (barrier.bytes < 0)
    text += concat(" and received ", -barrier.bytes, " bytes more than expected");
  if (record) {
    size_t count = 0;
    for (const MbarrierRecord::Arrival &arrival : record->arrivals)
      if (++count <= maxNamed)
        text += concat("\n      ", arrival.isBytes ? "expects " : "has ", arrival.count,
                       arrival.isBytes ? " bytes by " : " from each of ",
                       describeLocation(*arrival.warp, arrival.mask, arrival.op));
    if (count > maxNamed)
      text += concat("\n      and ", count - maxNamed, " more");
    if (count == 0)
      text += "\n      no thread has arrived in this phase";
    text += "\n     ";
  } else {
    text += ",";
  }
  return text;
}

static std::string describeWait(const Warp &warp, const Fragment &fragment) {
  switch (fragment.wait) {
  case Wait::barrier:
    return describeNamed(*warp.block, static_cast<unsigned>(fragment.object));
  case Wait::lanes:
  case Wait::warpBarrier: {
    uint32_t elsewhere = fragment.wanted & warp.alive & ~fragment.mask;
    return concat("for lanes ", hexNumber(fragment.wanted), " of their warp (",
                  hexNumber(elsewhere), " are elsewhere, ",
                  hexNumber(fragment.wanted & ~warp.alive), " have exited)");
  }
  case Wait::matrices: {
    uint32_t behind = 0;
    for (const Warp &one : matrixWarps(warp))
      if (one.alive != 0 && one.matricesIssued < fragment.object)
        behind |= 1u << one.index;
    return concat("for wgmma number ", fragment.object, " of their warpgroup, which ",
                  warpsOf(behind), " did not issue,");
  }
  case Wait::tensorMemory:
    return "for tensor memory, or for the peer block in tcgen05.alloc or dealloc";
  case Wait::cluster:
    return describeCluster(warp, *warp.block->group);
  case Wait::mbarrier:
    return describeMbarrier(*warp.block->group, fragment);
  case Wait::none:
    break;
  }
  return "to be scheduled";
}

/// The number of groups of live lanes, and their descriptions, one line each.
static std::pair<size_t, std::string> describeLanes(const Group &group) {
  std::string lines;
  size_t count = 0;
  for (const Block &block : group.blocks)
    for (const Warp &warp : block.warps)
      for (const Fragment &fragment : warp.others) {
        if (++count > maxNamed)
          continue;
        lines += concat("\n  block ", listed(block.id), " warp ", warp.index, " lanes ",
                        hexNumber(fragment.mask), fragment.wait == Wait::none ? " spin" : " wait ",
                        fragment.wait == Wait::none ? "" : describeWait(warp, fragment), " at ",
                        describePosition(*group.grid->program, fragment.pc));
      }
  if (count > maxNamed)
    lines += concat("\n  and ", count - maxNamed, " more");
  return {count, std::move(lines)};
}

Status describeDeadlock(const Group &group) {
  const auto [count, waiters] = describeLanes(group);
  return Status(Error::vgpuDeadlock, concat("deadlock: no thread of the block can continue, and no "
                                            "asynchronous operation is in flight; ",
                                            count, " groups of lanes wait:", waiters));
}

Status describeLivelock(const Group &group, uint64_t steps) {
  const auto [count, spinners] = describeLanes(group);
  return Status(Error::vgpuLivelock, concat("livelock: ", steps, " branches without progress; ",
                                            count, " groups of lanes are left:", spinners));
}

void StoppedWarps::add(const Group &group) {
  for (const Block &block : group.blocks)
    for (const Warp &warp : block.warps)
      for (const Fragment &fragment : warp.others) {
        const bool isRunning = fragment.wait == Wait::none;
        StoppedLanes &lanes =
            byLocation[concat(isRunning ? "at " : "waiting at ",
                              describePosition(*group.grid->program, fragment.pc))];
        if (lanes.count++ == 0)
          lanes.first = concat("block ", listed(block.id), " warp ", warp.index, " lanes ",
                               hexNumber(fragment.mask),
                               isRunning ? "" : " wait " + describeWait(warp, fragment));
      }
}

std::string StoppedWarps::text() const {
  std::vector<std::pair<std::string, StoppedLanes>> sorted(byLocation.begin(), byLocation.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto &left, const auto &right) {
    return left.second.count > right.second.count;
  });
  std::string lines;
  for (size_t i = 0; i < sorted.size() && i < maxNamed; ++i) {
    const auto &[location, lanes] = sorted[i];
    lines += concat("\n  ", lanes.count, lanes.count == 1 ? " warp " : " warps ", location, ": ",
                    lanes.first, lanes.count == 1 ? "" : " and others");
  }
  if (sorted.size() > maxNamed)
    lines += concat("\n  and warps at ", sorted.size() - maxNamed, " more locations");
  return lines.empty() ? " no warp had begun" : lines;
}

static std::string secondsOf(std::chrono::steady_clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", std::chrono::duration<double>(time).count());
  return text;
}

Status describeTimeout(const std::string &kernel, std::chrono::steady_clock::duration limit,
                       const StoppedWarps &stopped) {
  return Status(
      Error::vgpuTimeout,
      concat("kernel '", kernel, "' exceeded the time limit of ", secondsOf(limit),
             " s (--timeout, TILEWRIGHT_VGPU_TIMEOUT) and was stopped with:", stopped.text()));
}

Status describeInterrupt(const std::string &kernel, std::chrono::steady_clock::duration time,
                         const StoppedWarps &stopped) {
  return Status(Error::vgpuInterrupted, concat("kernel '", kernel, "' was interrupted after ",
                                               secondsOf(time), " s, with:", stopped.text()));
}

} // namespace tilewright::vgpu::machine
