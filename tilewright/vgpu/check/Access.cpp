// Splits the access of a warp into runs of lanes, and a run into the 32-byte sectors it touches.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;

void Detector::access(const MemoryEvent &event) {
  ++group.accesses;
  WarpState &warp = group.warpOf(event.warp);
  if (event.async != 0) {
    ++group.events;
    AsyncState *operation = operationOf(event.async);
    if (!operation)
      return;
    operation->usesAsyncProxy = operation->usesAsyncProxy || event.proxy == Proxy::async;
    if (machine::isOfWave(operation->group) && event.order != Order::weak)
      flags(event, warp);
    if (operation->group == GroupKind::copy) {
      for (const auto &[mask, knowledge] : *operation->issued)
        if (mask & event.mask)
          accessBy({*warp.block, warp, knowledge.get(), operation, mask}, event, mask & event.mask);
    } else {
      accessBy(
          {*warp.block, warp, operation->issued->front().second.get(), operation, operation->mask},
          event, event.mask);
    }
    return;
  }
  if (event.order != Order::weak) {
    flags(event, warp);
    warp.lastIssue = {};
    warp.block->log.closeGates();
  } else if (logRead(event, warp)) {
    return;
  }
  if (warp.cohorts.size() == 1) {
    accessBy({*warp.block, warp, &warp.cohorts[0].knowledge, nullptr, warp.allLanes}, event,
             event.mask);
    return;
  }
  for (const Cohort &cohort : warp.cohorts)
    if (cohort.mask & event.mask)
      accessBy({*warp.block, warp, &cohort.knowledge, nullptr, cohort.mask}, event,
               cohort.mask & event.mask);
}

void Detector::accessBy(const Actor &actor, const MemoryEvent &event, uint32_t mask) {
  if (const uint32_t rest = accessRanges(actor, event, mask))
    accessLanes(actor, event, rest);
}

/// Joins lanes that access consecutive addresses, or the same address, into one run.
void Detector::accessLanes(const Actor &actor, const MemoryEvent &event, uint32_t mask) {
  const uint64_t bytes = event.bytes;
  const bool isLaneless = actor.operation && actor.operation->group != GroupKind::copy;
  const bool joins = std::has_single_bit(bytes) && bytes <= 16 && !isLaneless;
  uint32_t follows = event.follows, repeats = event.repeats;
  if (joins && !event.hasPattern)
    for (uint32_t look = mask & mask >> 1; look != 0; look &= look - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(look));
      const uint64_t distance = event.addresses[lane + 1] - event.addresses[lane];
      follows |= uint32_t(distance == bytes) << lane;
      repeats |= uint32_t(distance == 0) << lane;
    }
  for (uint32_t rest = mask; rest != 0;) {
    const auto first = static_cast<uint32_t>(std::countr_zero(rest));
    rest &= rest - 1;
    Run run{event.addresses[first], bytes, first, 5, false};
    if (!joins) {
      if (!actor.operation)
        for (uint32_t look = rest; look != 0; look &= look - 1)
          if (const auto lane = static_cast<uint32_t>(std::countr_zero(look));
              event.addresses[lane] == run.address) {
            run.isMany = true;
            rest &= ~(1u << lane);
          }
      accessRun(actor, event, run);
      continue;
    }
    const uint32_t above = rest >> first >> 1; // bit i: lane first + 1 + i
    const auto following = static_cast<uint32_t>(std::countr_one(follows >> first & above));
    if (following != 0) {
      run.length = (following + 1) * bytes;
      run.shift = static_cast<uint32_t>(std::countr_zero(bytes));
      rest &= ~(lanesBelow(following) << first << 1);
      // The next lanes often access the same addresses: add them to this run.
      const uint32_t second = first + following + 1;
      if (second < 32 && (rest >> second & 1) && event.addresses[second] == run.address &&
          static_cast<uint32_t>(std::countr_one(follows >> second & rest >> second >> 1)) ==
              following) {
        run.isMany = true;
        rest &= ~(lanesBelow(following + 1) << second);
      }
    } else {
      // Add all other lanes with the same address, adjacent or not, unless they begin a run of
      // consecutive addresses.
      uint32_t others = lanesBelow(static_cast<uint32_t>(std::countr_one(repeats >> first & above)))
                        << first << 1;
      // Of consecutive lanes that access the same address, only the lowest needs to be compared.
      for (uint32_t look = rest & ~others; look != 0;) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(look));
        const auto repeated =
            static_cast<uint32_t>(std::countr_one(repeats >> lane & look >> lane >> 1));
        const uint32_t alike = 1u << lane | lanesBelow(repeated) << lane << 1;
        if (event.addresses[lane] == run.address)
          others |= alike;
        look &= ~alike;
      }
      others &= ~(follows & rest >> 1);
      run.isMany = others != 0;
      rest &= ~others;
    }
    accessRun(actor, event, run);
  }
}

AccessRecord Detector::recordOf(const Actor &actor, const MemoryEvent &event) const {
  AccessRecord record;
  record.block = actor.block.linear;
  record.warp = static_cast<uint8_t>(actor.warp.index);
  record.epoch = actor.operation ? actor.operation->epoch
                 : isReplay      ? replayEpoch
                                 : actor.warp.epoch;
  record.op = actor.operation ? static_cast<uint32_t>(actor.operation->id) : 0;
  record.instruction = launch.instructionOf(event.op);
  record.kind = static_cast<uint8_t>(event.kind) & 3;
  record.proxy = static_cast<uint8_t>(event.proxy) & 3;
  record.isStrong = event.order != Order::weak;
  record.scope = static_cast<uint8_t>(event.scope) & 7;
  record.isLaneless = actor.operation && actor.operation->group != GroupKind::copy;
  record.hasValues = event.values != nullptr && event.kind == AccessKind::write;
  record.event = group.accesses & 3;
  return record;
}

void Detector::accessRun(const Actor &actor, const MemoryEvent &event, const Run &run) {
  AccessRecord record = recordOf(actor, event);
  record.laneShift = run.shift & 7;
  record.isMany = run.isMany;
  current = &event;
  currentRun = &run;
  const uint64_t window = run.address & machine::windowMask;
  inShared = window == machine::sharedWindow;
  // Triton copies a tile over the word to which tcgen05.alloc wrote, without a proxy fence after
  // reading it. Treat accesses to this word as if they needed none.
  if (inShared && !options.strict && run.length == 4 && !actor.block.tensorAddresses.empty() &&
      actor.block.tensorAddresses.contains(run.address))
    record.proxy = static_cast<uint8_t>(Proxy::async);
  if (inShared)
    accessShared(actor, record, run);
  else if (window == 0)
    accessGlobal(actor, record, run);
  else
    return; // local memory is each thread's own
  // If lanes of one instruction store to the same address, PTX only promises that one of the values
  // remains. Triton's reductions rely on that: their lanes store results that differ in the last
  // bits. So only strict mode compares the values.
  if (run.isMany && record.hasValues && options.races && options.strict)
    compareLanes(actor, record);
}

/// Notes that an operation accesses the shared memory of `block`.
void Detector::touchShared(const Actor &actor, const BlockState &block) {
  std::vector<uint32_t> &touched = const_cast<AsyncState *>(actor.operation)->sharedOf;
  if (std::find(touched.begin(), touched.end(), block.indexInGroup) == touched.end())
    touched.push_back(block.indexInGroup);
}

void Detector::accessShared(const Actor &actor, const AccessRecord &record, const Run &run) {
  const auto offset = static_cast<uint32_t>(run.address & machine::sharedOffsetMask);
  const auto rank = static_cast<uint32_t>(run.address >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? &actor.block : group.blockAt(actor.block, rank - 1);
  if (!block || offset + run.length > block->shared.bytes())
    return; // the machine reports the access itself
  if (actor.operation)
    touchShared(actor, *block);
  else if (block != &actor.block)
    block->remote[actor.warp.groupIndex] = record.inSector(0, 0, run.lane);
  if (record.accessKind() != AccessKind::read)
    beforeSharedWrite(actor, *block, record);
  const uint64_t flat = run.address - offset;
  for (uint32_t at = offset, end = offset + static_cast<uint32_t>(run.length); at < end;) {
    const uint32_t base = at / Sector::bytes * Sector::bytes;
    const uint32_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    const uint32_t index = base / Sector::bytes;
    Sector &sector = block->shared[index];
    const AccessRecord here = record.inSector(base, offset, run.lane);
    if (isReplay) {
      remember(sector, here, mask);
      at = next;
      continue;
    }
    if (block->shared.hasMbarrier(index))
      checkMbarrierBytes(*block, here, base, mask);
    if (record.accessKind() != AccessKind::write && (mask & ~sector.initialised) != 0 &&
        options.uninit) {
      const auto byte = static_cast<uint32_t>(std::countr_zero(mask & ~sector.initialised));
      reportSimple(
          FindingKind::uninitialised, here, byte,
          concat("read of ",
                 base < machine::tensorOffset ? launch.program->terms.shared : "tensor memory",
                 " that was never written"),
          flat + base + byte, "write it first, or wait for the copy that fills it before the read");
      sector.initialised |= mask;
    }
    held = block->memory ? block->memory + base : nullptr;
    heldBytes = held && block->sharedBytes > base ? block->sharedBytes - base : 0;
    if (options.races)
      checkSector(actor, sector, here, mask, flat + base);
    if (record.accessKind() != AccessKind::read) {
      sector.initialised |= mask;
      if (options.races && record.accessKind() == AccessKind::write && record.laneShift >= 4)
        block->shared.pageOf(index).joinAfter(here, index % SharedPage::sectorCount,
                                              isMatrix(actor));
    }
    at = next;
  }
}

void Detector::checkMbarrierBytes(BlockState &block, const AccessRecord &record, uint32_t base,
                                  uint32_t mask) {
  if (!options.barriers)
    return;
  for (uint32_t i = 0; i < Sector::bytes; i += 8) {
    if ((mask >> i & 0xff) == 0)
      continue;
    auto found = block.mbarriers.find(base + i);
    if (found == block.mbarriers.end() || !found->second.isLive)
      continue;
    reportSimple(FindingKind::barrier, record, i,
                 "a non-mbarrier instruction accesses the bytes of an mbarrier that is in use",
                 machine::sharedWindow | machine::sharedAddress(block.rank, base + i),
                 "access these bytes only with mbarrier instructions, or execute mbarrier.inval "
                 "before other uses of the memory",
                 &found->second.init, "mbarrier initialised by");
  }
}

} // namespace tilewright::vgpu::check
