#include "tilewright/vgpu/machine/Barriers.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <bit>
#include <cstring>

namespace tilewright::vgpu::machine {

/// Whether enough warps have arrived.
static bool isComplete(const Block &block, const NamedBarrier &barrier) {
  const uint32_t expected = barrier.expected ? (barrier.expected + 31) / 32 : block.liveWarps;
  return barrier.arrived != 0 && barrier.arrived >= expected;
}

void completeBarrier(Block &block, unsigned number) {
  NamedBarrier &barrier = block.barriers[number];
  const uint32_t expected = barrier.expected;
  barrier.result = {barrier.votes, barrier.voters};
  barrier.arrived = barrier.expected = barrier.votes = barrier.voters = barrier.warps = 0;
  const uint64_t generation = barrier.generation++;
  std::fill(barrier.lanes.begin(), barrier.lanes.end(), 0);
  Observer *observer = block.group->grid->observer;
  for (Warp &warp : block.warps)
    for (Fragment &fragment : warp.others)
      if (fragment.wait == Wait::barrier && fragment.object == number) {
        fragment.wait = Wait::none;
        if (observer)
          observer->synchronise({.warp = warp,
                                 .op = fragment.pc - 1,
                                 .mask = fragment.mask,
                                 .kind = SyncKind::barrierLeave,
                                 .order = Order::acquireRelease,
                                 .scope = Scope::cta,
                                 .object = number,
                                 .count = expected,
                                 .phase = generation});
      }
  ++block.group->progress;
}

bool arriveAtBarrier(Warp &warp, const Op *op, uint32_t number, uint32_t threads, uint32_t mask,
                     uint32_t votes) {
  Block &block = *warp.block;
  if (number >= Chip::namedBarriers) {
    fault(warp, op, Error::vgpuBarrier,
          concat("barrier ", number, " does not exist; a block has barriers 0 to 15"));
    return false;
  }
  if (threads % 32 != 0) {
    fault(warp, op, Error::vgpuBarrier,
          concat("the number of threads at a barrier must be a multiple of 32, got ", threads));
    return false;
  }
  NamedBarrier &barrier = block.barriers[number];
  if (barrier.arrived != 0 && barrier.expected != threads) {
    fault(warp, op, Error::vgpuBarrier,
          concat("warps wait at barrier ", number, " with different thread counts, ",
                 barrier.expected ? barrier.expected : 0u, " and ", threads, " (0: all threads)"));
    return false;
  }
  if (Observer *observer = block.group->grid->observer)
    observer->synchronise({.warp = warp,
                           .op = op,
                           .mask = mask,
                           .kind = SyncKind::barrierArrive,
                           .order = Order::acquireRelease,
                           .scope = Scope::cta,
                           .object = number,
                           .count = threads,
                           .phase = barrier.generation});
  barrier.lanes.resize(block.warps.size());
  barrier.expected = threads;
  barrier.votes += static_cast<uint32_t>(std::popcount(votes & mask));
  barrier.voters += static_cast<uint32_t>(std::popcount(mask));
  uint32_t &lanes = barrier.lanes[warp.index];
  lanes |= mask;
  // A warp counts once all its live lanes have arrived.
  if ((warp.alive & ~lanes) == 0) {
    ++barrier.arrived;
    barrier.warps |= 1u << warp.index;
    lanes = 0;
  }
  if (isComplete(block, barrier))
    completeBarrier(block, number);
  return true;
}

void barrierAfterExit(Block &block) {
  for (unsigned number = 0; number < Chip::namedBarriers; ++number) {
    NamedBarrier &barrier = block.barriers[number];
    for (size_t i = 0; i < barrier.lanes.size(); ++i)
      if (barrier.lanes[i] != 0 && (block.warps[i].alive & ~barrier.lanes[i]) == 0) {
        barrier.lanes[i] = 0;
        barrier.warps |= 1u << i;
        ++barrier.arrived;
      }
    if (barrier.arrived != 0 && isComplete(block, barrier))
      completeBarrier(block, number);
  }
}

void releaseWarpBarriers(Warp &warp) {
  // Lanes that wait for each other may be at different instructions; only the set of waiting lanes
  // matters.
  uint32_t waiting = 0;
  for (const Fragment &fragment : warp.others)
    if (fragment.wait == Wait::warpBarrier)
      waiting |= fragment.mask;
  for (size_t i = 0; i < warp.others.size(); ++i) {
    if (warp.others[i].wait != Wait::warpBarrier)
      continue;
    const uint32_t members = warp.others[i].wanted;
    if ((members & warp.alive & ~waiting) != 0)
      continue;
    uint32_t met = 0;
    for (Fragment &fragment : warp.others)
      if (fragment.wait == Wait::warpBarrier && fragment.wanted == members) {
        fragment.wait = Wait::none;
        met |= fragment.mask;
      }
    observeWarpBarrier(warp, warp.others[i].pc - 1, met);
  }
}

void observeFence(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask) {
  const auto &form = *static_cast<const FenceForm *>(op->extra);
  SyncEvent event{.warp = warp,
                  .op = op,
                  .mask = mask,
                  .kind = form.isProxy          ? SyncKind::proxyFence
                          : form.isMbarrierInit ? SyncKind::mbarrierInitFence
                                                : SyncKind::fence,
                  .order = form.order,
                  .scope = form.scope,
                  .proxy = form.proxy,
                  .space = form.space};
  if (form.hasAddress)
    event.object = flatAddress(
        warp, form.address.space,
        laneAddress(form.address, registers, static_cast<unsigned>(std::countr_zero(mask))));
  warp.block->group->grid->observer->synchronise(event);
}

void observeWarpBarrier(Warp &warp, const Op *op, uint32_t mask) {
  if (Observer *observer = warp.block->group->grid->observer)
    observer->synchronise(
        {warp, op, mask, SyncKind::warpBarrier, Order::acquireRelease, Scope::cta, 0});
}

const DecodedFunction *functionAt(Warp &warp, const Op *op, const CallSite &site,
                                  uint64_t address) {
  const Program &program = *warp.block->group->grid->program;
  const DecodedFunction *found = nullptr;
  if ((address & windowMask) == functionWindow)
    if (auto it = program.bySymbol.find(static_cast<uint32_t>(address));
        it != program.bySymbol.end())
      found = it->second;
  if (!found)
    fault(warp, op, Error::vgpuFault, "the target of an indirect call is not a function");
  else if (found->parameters.size() != site.arguments.size() ||
           found->returns.size() != site.results.size()) {
    fault(warp, op, Error::vgpuFault,
          concat("an indirect call passes ", site.arguments.size(), " arguments to '", found->name,
                 "', which takes ", found->parameters.size()));
    return nullptr;
  }
  return found;
}

std::byte *addressOfValue(Warp &warp, const Frame *frame, const CallValue &value, int lane) {
  if (value.isRegister)
    return frame->registers + value.slot + static_cast<size_t>(lane) * value.bytes;
  return warp.local + size_t(lane) * warp.localStride + frame->localBase + value.slot;
}

/// Copies a value to a predicate register, which is one mask with a bit per lane. The value may be
/// a predicate, or of any other type: a lane's bit is set if its value is not zero.
static void passPredicate(Warp &warp, const Frame *from, const CallValue &source, Frame *to,
                          const CallValue &destination, uint32_t mask) {
  uint32_t bits = 0;
  if (source.isRegister && source.bytes == 1)
    std::memcpy(&bits, from->registers + source.slot, 4);
  else
    for (int lane = 0; lane < 32; ++lane) {
      uint64_t value = 0;
      std::memcpy(&value, addressOfValue(warp, from, source, lane), std::min(source.bytes, 8u));
      bits |= value != 0 ? 1u << lane : 0;
    }
  uint32_t old;
  std::memcpy(&old, to->registers + destination.slot, 4);
  old = (old & ~mask) | (bits & mask);
  std::memcpy(to->registers + destination.slot, &old, 4);
}

void passValues(Warp &warp, const Frame *from, const std::vector<CallValue> &sources, Frame *to,
                const std::vector<CallValue> &destinations, uint32_t mask) {
  for (size_t i = 0; i < sources.size() && i < destinations.size(); ++i) {
    const size_t bytes = std::min(sources[i].bytes, destinations[i].bytes);
    if (destinations[i].isRegister && destinations[i].bytes == 1) {
      passPredicate(warp, from, sources[i], to, destinations[i], mask);
      continue;
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      std::memcpy(addressOfValue(warp, to, destinations[i], lane),
                  addressOfValue(warp, from, sources[i], lane), bytes);
    }
  }
}

} // namespace tilewright::vgpu::machine
