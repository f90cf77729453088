#include "tilewright/vgpu/machine/Warp.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/machine/Barriers.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

namespace tilewright::vgpu::machine {

using ptx::SpecialRegister;

/// Scheduling of a warp's fragments alternates between two phases: `choicesByAddress` times it
/// chooses the fragment with the lowest program counter, then `choicesByAge` times it chooses by
/// age.
static constexpr uint32_t choicesByAddress = 256, choicesByAge = 64;

static bool canRun(const Fragment &fragment) { return fragment.wait == Wait::none; }

/// Merges fragments at the same program counter. A merged fragment that waited for lanes can run
/// and tests its condition again.
static void mergeFragments(std::vector<Fragment> &fragments) {
  for (size_t i = 0; i < fragments.size(); ++i)
    for (size_t j = i + 1; j < fragments.size();) {
      Fragment &a = fragments[i], &b = fragments[j];
      const bool canMeet =
          (canRun(a) || a.wait == Wait::lanes) && (canRun(b) || b.wait == Wait::lanes);
      if (a.pc == b.pc && a.frame == b.frame && canMeet) {
        a.mask |= b.mask;
        a.wait = Wait::none;
        fragments.erase(fragments.begin() + static_cast<ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
}

bool chooseFragment(Warp &warp) {
  std::vector<Fragment> &others = warp.others;
  if (others.empty()) {
    warp.diverged = false;
    warp.stop = Stop::finished;
    return false;
  }
  if (--warp.budget < 0) {
    // Only merging wakes fragments that wait for each other's lanes.
    if (others.size() > 1)
      mergeFragments(others);
    warp.stop = Stop::quantum;
    return false;
  }
  // The warp is converged.
  if (others.size() == 1 && canRun(others.front())) {
    warp.current = others.front();
    others.clear();
    warp.diverged = false;
    warp.frame = warp.current.frame;
    return true;
  }
  if (others.size() > 1)
    mergeFragments(others);

  // Choose the deepest call, and in it the lowest program counter. To choose by age, take the
  // fragment that was parked earliest, and from then on the one that was parked last, which is the
  // one that just ran.
  const uint32_t choice = warp.choices++ % (choicesByAddress + choicesByAge);
  size_t chosen = others.size();
  for (size_t i = 0; i < others.size(); ++i) {
    if (!canRun(others[i]))
      continue;
    if (chosen == others.size()) {
      chosen = i;
      if (choice == choicesByAddress)
        break;
      continue;
    }
    const Fragment &best = others[chosen], &one = others[i];
    const bool isBefore = one.frame->depth != best.frame->depth
                              ? one.frame->depth > best.frame->depth
                              : one.pc < best.pc;
    if (choice > choicesByAddress || isBefore)
      chosen = i;
  }
  if (chosen == others.size()) {
    warp.stop = Stop::blocked;
    return false;
  }
  warp.current = others[chosen];
  others.erase(others.begin() + static_cast<ptrdiff_t>(chosen));
  warp.diverged = !others.empty();
  warp.frame = warp.current.frame;
  return true;
}

void parkFragment(Warp &warp, const Fragment &fragment) {
  warp.others.push_back(fragment);
  warp.diverged = true;
}

Frame *enterFunction(Warp &warp, const DecodedFunction &function, uint32_t mask) {
  const uint32_t depth = warp.frame ? warp.frame->depth + 1 : 0;
  if (depth > maxCallDepth)
    return nullptr;
  if (warp.freeFrames.size() <= function.index)
    warp.freeFrames.resize(function.index + 1);
  std::vector<std::unique_ptr<Frame>> &free = warp.freeFrames[function.index];
  std::unique_ptr<Frame> frame;
  if (!free.empty()) {
    frame = std::move(free.back());
    free.pop_back();
  } else {
    frame = std::make_unique<Frame>();
    frame->function = &function;
    auto memory = std::make_unique<std::byte[]>(function.frameBytes + 64);
    frame->registers = reinterpret_cast<std::byte *>(
        (reinterpret_cast<uintptr_t>(memory.get()) + 63) & ~uintptr_t(63));
    std::memset(frame->registers, 0, function.frameBytes);
    std::memcpy(frame->registers, function.constants.data(), function.constants.size());
    warp.registerMemory.push_back(std::move(memory));
  }
  uint32_t base = 0;
  if (warp.frame)
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
      base = std::max(base, warp.frame->localTop[std::countr_zero(rest)]);
  frame->localBase = (base + 15) & ~15u;
  frame->depth = depth;
  frame->live = mask;
  frame->caller = nullptr;
  frame->call = nullptr;
  const uint32_t top = frame->localBase + function.localBytes;
  if (top > maxLocalBytes)
    return nullptr;
  std::fill(std::begin(frame->localTop), std::end(frame->localTop), top);
  growLocal(warp, top);
  warp.usedFrames.push_back(std::move(frame));
  return warp.usedFrames.back().get();
}

void leaveFrame(Warp &warp, Frame *frame, uint32_t mask) {
  frame->live &= ~mask;
  if (frame->live != 0)
    return;
  if (warp.async)
    finishMatrices(warp, frame->registers);
  for (size_t i = warp.usedFrames.size(); i-- > 0;)
    if (warp.usedFrames[i].get() == frame) {
      warp.freeFrames[frame->function->index].push_back(std::move(warp.usedFrames[i]));
      warp.usedFrames.erase(warp.usedFrames.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
}

void growLocal(Warp &warp, uint32_t bytes) {
  if (bytes <= warp.localStride)
    return;
  const uint32_t stride = std::max((bytes + 63) & ~63u, warp.localStride * 2);
  std::vector<std::byte> grown(size_t(stride) * 32);
  for (int lane = 0; lane < 32 && warp.localStride; ++lane)
    std::memcpy(grown.data() + size_t(lane) * stride, warp.local + size_t(lane) * warp.localStride,
                warp.localStride);
  warp.localMemory = std::move(grown);
  warp.local = warp.localMemory.data();
  warp.localStride = stride;
}

void exitLanes(Warp &warp, uint32_t mask) {
  warp.alive &= ~mask;
  for (Frame *frame = warp.frame; frame;) {
    Frame *caller = frame->caller;
    leaveFrame(warp, frame, mask);
    frame = caller;
  }
  // Wake the fragments that wait for these lanes, so that they test their condition again.
  for (Fragment &fragment : warp.others)
    if (fragment.wait == Wait::lanes)
      fragment.wait = Wait::none;
  releaseWarpBarriers(warp);
  if (warp.alive == 0)
    --warp.block->liveWarps;
  barrierAfterExit(*warp.block);
  ++warp.block->group->progress;
}

static Status faultAt(const Warp &warp, const Op *op, Error error, const std::string &what) {
  const Block &block = *warp.block;
  return Status(error, concat(what, ", at ", describePosition(*block.group->grid->program, op),
                              ", block ", listed(block.id), ", warp ", warp.index));
}

void fault(Warp &warp, const Op *op, Error error, const std::string &what) {
  warp.block->group->grid->fail(faultAt(warp, op, error, what));
  warp.stop = Stop::fault;
}

uint64_t Grid::takeClusters(uint64_t most, uint64_t &first) {
  first = nextCluster.load();
  for (;;) {
    const uint64_t count = std::min(most, clusters - first);
    if (count == 0 || nextCluster.compare_exchange_weak(first, first + count))
      return count;
  }
}
Dim3 Grid::firstBlockOf(uint64_t index) const {
  const uint64_t width = grid[0] / cluster[0], height = grid[1] / cluster[1];
  return {static_cast<uint32_t>(index % width) * cluster[0],
          static_cast<uint32_t>(index / width % height) * cluster[1],
          static_cast<uint32_t>(index / width / height) * cluster[2]};
}

uint64_t Group::nextRandom() {
  // splitmix64, Steele, Lea and Flood 2014.
  uint64_t z = random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::byte *resolve(Warp &warp, const Op *op, Space space, uint64_t address, uint32_t lane,
                   uint32_t bytes) {
  if (space == Space::generic) {
    const uint64_t window = address & windowMask;
    space = window == sharedWindow  ? Space::shared
            : window == localWindow ? Space::local
            : window == 0           ? Space::global
                                    : Space::generic;
    address &= ~windowMask;
  }
  auto misused = [&](std::string_view why) -> std::byte * {
    fault(warp, op, Error::vgpuAccess,
          concat("access of ", bytes, " bytes at ", hexNumber(address), ' ', why, ", by lane ",
                 lane));
    return nullptr;
  };
  // Vector accesses must be aligned to their whole size, which is a power of two.
  if (address & (bytes - 1))
    return misused("is not aligned");
  switch (space) {
  case Space::shared: {
    const auto offset = static_cast<uint32_t>(address) & sharedOffsetMask;
    const uint32_t tag = static_cast<uint32_t>(address) >> sharedOffsetBits;
    std::byte *base = warp.shared;
    if (tag != 0) {
      const Grid &grid = *warp.block->group->grid;
      if (tag > volume(grid.cluster))
        return misused("refers to a block that is not in the cluster");
      base = warp.block->group->blocks[warp.block->clusterBase + tag - 1].shared;
    }
    if (uint64_t(offset) + bytes > warp.sharedBytes)
      return misused(concat("is beyond the ", warp.sharedBytes, " bytes of shared memory"));
    return base + offset;
  }
  case Space::local:
    if (address + bytes > warp.localStride)
      return misused("is beyond the local memory of its thread");
    return warp.local + size_t(lane) * warp.localStride + address;
  case Space::generic:
    return misused("is not in any address space");
  default:
    return resolveGlobal(warp, op, address, lane, bytes);
  }
}

std::byte *resolveRange(Warp &warp, const Op *op, Space space, uint64_t address, uint32_t lane,
                        uint64_t bytes, uint32_t unit) {
  if (bytes <= unit)
    return resolve(warp, op, space, address, lane, unit);
  const bool isGlobal =
      space == Space::global || (space == Space::generic && (address & windowMask) == 0);
  if (isGlobal && address % unit == 0)
    return resolveGlobal(warp, op, address, lane, bytes);
  // A range in shared or local memory is valid if both of its ends are.
  std::byte *first = resolve(warp, op, space, address, lane, unit);
  return first && resolve(warp, op, space, address + bytes - unit, lane, unit) ? first : nullptr;
}

bool findRange(Warp &warp, uint32_t slot, uint64_t address) {
  ValidMemory *valid = warp.block->group->grid->validMemory.get();
  if (!valid || (address & windowMask) != 0)
    return false;
  const ValidRange found = valid->find(address);
  if (found.bytes == 0)
    return false;
  warp.ranges[slot] = found;
  return true;
}

/// A buffer of zeros that replaces invalid memory. A copy needs two such buffers at a time.
static std::byte *nowhere(uint64_t bytes) {
  constexpr uint64_t alignment = 128, least = 4096;
  static thread_local std::vector<std::byte> zeros[2];
  static thread_local unsigned next = 0;
  std::vector<std::byte> &one = zeros[next++ % 2];
  one.resize(std::max<size_t>(one.size(), std::max(bytes, least) + alignment));
  std::fill(one.begin(), one.end(), std::byte(0));
  const auto begin = reinterpret_cast<uintptr_t>(one.data());
  return reinterpret_cast<std::byte *>((begin + alignment - 1) & ~uintptr_t(alignment - 1));
}

std::byte *resolveGlobal(Warp &warp, const Op *op, uint64_t address, uint32_t lane,
                         uint64_t bytes) {
  // All operations that call this function share the last slot; they are rare and slow anyway.
  constexpr uint32_t slot = validRangeSlots - 1;
  if (warp.ranges[slot].holds(address, bytes) ||
      (findRange(warp, slot, address) && warp.ranges[slot].holds(address, bytes))) [[likely]]
    return reinterpret_cast<std::byte *>(address);
  Grid &grid = *warp.block->group->grid;
  const std::string what =
      concat("access of ", bytes, " bytes at ", hexNumber(address), ' ',
             grid.validMemory ? describeInvalid(address, grid.validMemory->accessor())
                              : std::string("is near the null address"),
             ", by lane ", lane);
  if (!grid.suppressesInvalid) {
    fault(warp, op, Error::vgpuAccess, what);
    return nullptr;
  }
  grid.failAtEnd(faultAt(warp, op, Error::vgpuAccess, what));
  return nowhere(bytes);
}

/// The value of %lanemask_eq or a related register in one lane.
static uint32_t laneMask(SpecialRegister which, uint32_t lane) {
  const uint32_t own = 1u << lane, below = own - 1;
  switch (which) {
  case SpecialRegister::lanemaskEq:
    return own;
  case SpecialRegister::lanemaskLe:
    return below | own;
  case SpecialRegister::lanemaskLt:
    return below;
  case SpecialRegister::lanemaskGe:
    return ~below;
  default:
    return ~(below | own);
  }
}

/// All clocks count the nanoseconds of the host's clock.
static uint64_t readClock() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// Cooperative groups reads the address of the grid barrier's memory from %envreg1 (upper half) and
/// %envreg2 (lower half); the other registers are 0.
static uint64_t readEnvironment(const Grid &grid, unsigned number) {
  if (!grid.isCooperative || (number != 1 && number != 2))
    return 0;
  const auto address = reinterpret_cast<uint64_t>(grid.workspace.data());
  return number == 1 ? address >> 32 : address & 0xffffffffu;
}

void readSpecial(const Warp &warp, unsigned special, unsigned component, uint64_t (&lanes)[32]) {
  const auto which = static_cast<SpecialRegister>(special);
  const Block &block = *warp.block;
  const Grid &grid = *block.group->grid;
  const unsigned c = component > 3 ? 0 : component;
  auto splat = [&](uint64_t value) { std::fill(std::begin(lanes), std::end(lanes), value); };
  auto ofDim = [&](const Dim3 &dim) { splat(c < 3 ? dim[c] : 0); };
  auto clusters = [&](const Dim3 &a, const Dim3 &b) {
    return Dim3{a[0] / b[0], a[1] / b[1], a[2] / b[2]};
  };
  switch (which) {
  case SpecialRegister::tid:
    for (int i = 0; i < 32; ++i)
      lanes[i] = c < 3 ? warp.tid[c][i] : 0;
    return;
  case SpecialRegister::ntid:
    return ofDim(grid.block);
  case SpecialRegister::laneid:
    for (uint64_t i = 0; i < 32; ++i)
      lanes[i] = i;
    return;
  case SpecialRegister::warpid:
    return splat(warp.index);
  case SpecialRegister::nwarpid:
    return splat(grid.chip->threadsPerMultiprocessor / 32);
  case SpecialRegister::ctaid:
    return ofDim(block.id);
  case SpecialRegister::nctaid:
    return ofDim(grid.grid);
  case SpecialRegister::smid:
    return splat(block.linear % grid.chip->multiprocessors);
  case SpecialRegister::nsmid:
    return splat(grid.chip->multiprocessors);
  case SpecialRegister::gridid:
    return splat(grid.id);
  case SpecialRegister::isExplicitCluster:
    return splat(grid.explicitCluster);
  case SpecialRegister::clusterid:
    return ofDim(clusters(block.id, grid.cluster));
  case SpecialRegister::nclusterid:
    return ofDim(clusters(grid.grid, grid.cluster));
  case SpecialRegister::clusterCtaid:
    return ofDim({block.id[0] % grid.cluster[0], block.id[1] % grid.cluster[1],
                  block.id[2] % grid.cluster[2]});
  case SpecialRegister::clusterNctaid:
    return ofDim(grid.cluster);
  case SpecialRegister::clusterCtarank:
    return splat(block.rank);
  case SpecialRegister::clusterNctarank:
    return splat(volume(grid.cluster));
  case SpecialRegister::lanemaskEq:
  case SpecialRegister::lanemaskLe:
  case SpecialRegister::lanemaskLt:
  case SpecialRegister::lanemaskGe:
  case SpecialRegister::lanemaskGt:
    for (uint32_t i = 0; i < 32; ++i)
      lanes[i] = laneMask(which, i);
    return;
  case SpecialRegister::clock:
  case SpecialRegister::clock64:
  case SpecialRegister::globaltimer:
  case SpecialRegister::globaltimerLo:
    return splat(readClock());
  case SpecialRegister::clockHi:
  case SpecialRegister::globaltimerHi:
    return splat(readClock() >> 32);
  case SpecialRegister::totalSmemSize:
  case SpecialRegister::aggrSmemSize:
    return splat(grid.sharedBytes);
  case SpecialRegister::dynamicSmemSize:
    return splat(grid.dynamicSharedBytes);
  case SpecialRegister::envreg:
    return splat(readEnvironment(grid, component));
  default:
    return splat(0);
  }
}

} // namespace tilewright::vgpu::machine
