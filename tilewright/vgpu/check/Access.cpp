// Compares an access with the earlier accesses to the same bytes, and records it.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;

static uint32_t byteMask(uint64_t from, uint64_t to) {
  const auto count = static_cast<uint32_t>(to - from);
  return (count >= 32 ? ~0u : (1u << count) - 1) << from;
}

/// A mask of the lowest `count` lanes or bytes.
static uint32_t lanesBelow(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

void Detector::access(const MemoryEvent &event) {
  ++group.accesses;
  WarpState &warp = group.warpOf(event.warp);
  if (event.async != 0) {
    ++group.events;
    AsyncState *operation = operationOf(event.async);
    if (!operation)
      return;
    operation->usesAsyncProxy = operation->usesAsyncProxy || event.proxy == Proxy::async;
    if (operation->group == GroupKind::copy) {
      for (const auto &[mask, knowledge] : operation->issued)
        if (mask & event.mask)
          accessBy({*warp.block, warp, knowledge.get(), operation, mask}, event, mask & event.mask);
    } else if (!operation->issued.empty()) {
      accessBy(
          {*warp.block, warp, operation->issued.front().second.get(), operation, operation->mask},
          event, event.mask);
    }
    return;
  }
  if (event.order != Order::weak) {
    flags(event, warp);
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

/// Joins lanes that access consecutive addresses, or the same address, into one run.
void Detector::accessBy(const Actor &actor, const MemoryEvent &event, uint32_t mask) {
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

void Detector::accessRun(const Actor &actor, const MemoryEvent &event, const Run &run) {
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
  record.laneShift = run.shift & 7;
  record.isMany = run.isMany;
  record.hasValues = event.values != nullptr && event.kind == AccessKind::write;
  record.event = group.accesses & 3;
  current = &event;
  currentRun = &run;
  const uint64_t window = run.address & machine::windowMask;
  inShared = window == machine::sharedWindow;
  if (inShared)
    accessShared(actor, record, run);
  else if (window == 0)
    accessGlobal(actor, record, run);
  else
    return; // local memory is each thread's own
  // PTX only promises that one of the values remains when lanes of one instruction store to the
  // same address. Triton's reductions rely on that: their lanes store results that differ in the
  // last bits. So only strict mode compares the values.
  if (run.isMany && record.hasValues && options.races && options.strict)
    compareLanes(actor, record);
}

/// The byte that the run stores at an address.
std::byte Detector::storedAt(uint64_t address) const {
  const uint64_t distance = address - currentRun->address;
  if (currentRun->shift == 5)
    return current->values->at(currentRun->lane, distance);
  const auto lane = static_cast<uint32_t>(distance >> currentRun->shift);
  return current->values->at(currentRun->lane + lane, distance & (current->bytes - 1));
}

/// Copies the bytes that the run stores in [begin, end).
void Detector::copyStored(uint64_t begin, uint64_t end, std::byte *to) const {
  const machine::StoredValues &values = *current->values;
  const bool isOneElement = !values.rows && current->bytes == values.elementBytes &&
                            values.elementBytes == values.registerBytes && values.elementBytes <= 8;
  if (isOneElement && currentRun->shift != 5) {
    // Lanes with consecutive addresses also have consecutive elements in the register.
    std::memcpy(to,
                values.registers + values.slots[0] +
                    size_t(currentRun->lane) * values.registerBytes + (begin - currentRun->address),
                end - begin);
    return;
  }
  for (uint64_t at = begin; at < end; ++at)
    to[at - begin] = storedAt(at);
}

bool Detector::storesTheSame(const AccessRecord &earlier, const AccessRecord &now, uint32_t mask,
                             uint64_t address) const {
  if (!earlier.hasValues || !now.hasValues)
    return false;
  // The bytes that other lanes of the same instruction store are not in shared memory yet, so
  // compare with their registers.
  const bool isSameEvent = inShared && earlier.sameActor(now) &&
                           earlier.instruction == now.instruction && earlier.event == now.event;
  if (isSameEvent && !options.strict)
    return true;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto byte = static_cast<uint32_t>(std::countr_zero(rest));
    const std::byte value = storedAt(address + byte);
    bool isCompared = false;
    for (uint32_t look = isSameEvent ? current->mask : 0; look != 0; look &= look - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(look));
      const uint64_t distance = address + byte - current->addresses[lane];
      if (distance >= current->bytes || lane == now.laneOf(byte))
        continue;
      if (current->values->at(lane, distance) != value)
        return false;
      isCompared = true;
    }
    if (!isCompared && (byte >= heldBytes || held[byte] != value))
      return false;
  }
  return true;
}

void Detector::compareLanes(const Actor &actor, const AccessRecord &record) {
  const Run &run = *currentRun;
  if (run.address < Page::bytes)
    return; // a null pointer: there is no memory
  for (uint32_t look = current->mask & actor.cohortMask; look != 0; look &= look - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(look));
    const uint64_t distance = current->addresses[lane] - run.address;
    for (uint64_t i = 0; distance < run.length && i < current->bytes; ++i) {
      if (distance + i >= run.length ||
          current->values->at(lane, i) == storedAt(run.address + distance + i))
        continue;
      AccessRecord now = record, earlier = record;
      now.isMany = earlier.isMany = 0;
      now.laneShift = earlier.laneShift = 5;
      now.firstLane = static_cast<int8_t>(lane);
      earlier.firstLane = static_cast<int8_t>(
          run.lane + (run.shift == 5 ? 0 : static_cast<uint32_t>((distance + i) >> run.shift)));
      const uint64_t address = run.address + distance + i;
      reportConflict(actor, now, earlier, static_cast<uint32_t>(address % Sector::bytes), address,
                     Ordering::unordered);
      return;
    }
  }
}

/// The access record as seen by the sector that begins at `base`.
static AccessRecord inSector(AccessRecord record, uint64_t base, uint64_t runAddress,
                             uint32_t lane) {
  if (record.laneShift == 5) {
    record.firstLane = static_cast<int8_t>(lane);
  } else {
    const auto distance = static_cast<int64_t>(base - runAddress);
    record.firstLane = static_cast<int8_t>(int64_t(lane) + (distance >> record.laneShift));
  }
  return record;
}

void Detector::accessShared(const Actor &actor, const AccessRecord &record, const Run &run) {
  const auto offset = static_cast<uint32_t>(run.address & machine::sharedOffsetMask);
  const auto rank = static_cast<uint32_t>(run.address >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? &actor.block : group.blockAt(actor.block, rank - 1);
  if (!block || offset + run.length > uint64_t(block->sectorCount) * Sector::bytes)
    return; // the machine reports the access itself
  if (actor.operation) {
    std::vector<uint32_t> &touched = const_cast<AsyncState *>(actor.operation)->sharedOf;
    if (std::find(touched.begin(), touched.end(), block->indexInGroup) == touched.end())
      touched.push_back(block->indexInGroup);
  } else if (block != &actor.block) {
    block->remote[actor.warp.groupIndex] = inSector(record, 0, 0, run.lane);
  }
  if (record.accessKind() != AccessKind::read)
    beforeSharedWrite(actor, *block, record);
  const uint64_t flat = run.address - offset;
  for (uint32_t at = offset, end = offset + static_cast<uint32_t>(run.length); at < end;) {
    const uint32_t base = at / Sector::bytes * Sector::bytes;
    const uint32_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    const uint32_t index = base / Sector::bytes;
    Sector &sector = block->shared[index];
    const AccessRecord here = inSector(record, base, offset, run.lane);
    if (isReplay) {
      remember(sector, here, mask);
      at = next;
      continue;
    }
    if (block->liveMbarriers[index])
      checkMbarrierBytes(actor, *block, here, base, mask);
    if (record.accessKind() != AccessKind::write && (mask & ~sector.initialised) != 0 &&
        options.uninit) {
      const auto byte = static_cast<uint32_t>(std::countr_zero(mask & ~sector.initialised));
      reportSimple(FindingKind::uninitialised, here, byte,
                   "read of shared memory that was never written", flat + base + byte,
                   "write it first, or wait for the copy that fills it before the read");
      sector.initialised |= mask;
    }
    held = block->memory ? block->memory + base : nullptr;
    heldBytes = held && block->sharedBytes > base ? block->sharedBytes - base : 0;
    if (options.races)
      checkSector(actor, sector, here, mask, flat + base);
    if (record.accessKind() != AccessKind::read)
      sector.initialised |= mask;
    at = next;
  }
}

void Detector::checkMbarrierBytes(const Actor &, BlockState &block, const AccessRecord &record,
                                  uint32_t base, uint32_t mask) {
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

/// Memory that many blocks read is rarely written. If a block does write it, the write is unordered
/// with all readers, unless flags order the blocks. So while the launch has no flags, it is enough
/// to remember some of the readers.
bool Detector::isReadOfMany(const AccessRecord &record) const {
  return record.isRead() && record.op == 0 && !record.isStrong && group.blocks.size() == 1 &&
         launch.flagCount.load(std::memory_order_relaxed) == 0;
}

/// See Page::settled.
static bool isReadByTwoBlocks(Sector &sector) {
  auto counts = [](const SectorAccess &entry) {
    return entry.record.op == 0 && !entry.record.isStrong;
  };
  uint32_t byTwo = 0; // bytes that two blocks read
  for (uint32_t i = 0; i < sector.size(); ++i) {
    if (!sector[i].record.isRead())
      return false;
    for (uint32_t j = 0; j < i && byTwo != ~0u; ++j)
      if (sector[i].record.block != sector[j].record.block && counts(sector[i]) &&
          counts(sector[j]))
        byTwo |= sector[i].mask & sector[j].mask;
  }
  return byTwo == ~0u;
}

/// Reports bytes outside of the memory that the launch may access, and clips [begin, end) to valid
/// memory. Returns false if nothing is left.
bool Detector::clipToValid(const AccessRecord &record, uint64_t &begin, uint64_t &end) {
  machine::ValidRange &range = group.range;
  if (range.holds(begin, end - begin)) [[likely]]
    return true;
  machine::ValidMemory &valid = *launch.grid->validMemory;
  range = valid.find(begin);
  if (range.holds(begin, end - begin))
    return true;
  const uint64_t runAddress = begin;
  uint64_t wrong = begin;
  if (range.bytes != 0) {
    end = wrong = range.begin + range.bytes;
  } else if (const machine::ValidRange behind = valid.find(end - 1); behind.bytes != 0) {
    begin = behind.begin;
    range = behind;
  } else {
    begin = end;
  }
  if (options.bounds) {
    const AccessRecord here =
        inSector(record, wrong / Sector::bytes * Sector::bytes, runAddress, currentRun->lane);
    reportSimple(FindingKind::bounds, here, static_cast<uint32_t>(wrong % Sector::bytes),
                 concat("access of ", current->bytes, " bytes ", machine::describeInvalid(wrong)),
                 wrong,
                 "compare the index with the size before the access, and check the size and "
                 "the strides that the host passes");
  }
  return begin < end;
}

void Detector::accessGlobal(const Actor &actor, const AccessRecord &record, const Run &run) {
  uint64_t begin = run.address, end = run.address + run.length;
  const Allocation *allocation = nullptr;
  if (launch.grid->validMemory && !clipToValid(record, begin, end))
    return;
  if (options.bounds || options.uninit) {
    allocation = launch.allocations->find(begin);
    const bool isInside =
        allocation && begin >= allocation->begin && end <= allocation->begin + allocation->bytes;
    const bool isNull = begin < Page::bytes;
    if (!isInside && (allocation || isNull)) {
      if (options.bounds) {
        std::string message = allocation
                                  ? concat("access of ", run.length, " bytes, ",
                                           begin < allocation->begin
                                               ? concat(allocation->begin - begin, " bytes before")
                                               : concat(begin - allocation->begin, " bytes into"),
                                           " an allocation of ", allocation->bytes, " bytes")
                                  : std::string("access outside of every allocation");
        const AccessRecord here = inSector(record, begin / 32 * 32, run.address, run.lane);
        reportSimple(FindingKind::bounds, here, static_cast<uint32_t>(begin % 32),
                     std::move(message), begin,
                     "compare the index with the size before the access, and check the size and "
                     "the strides that the host passes");
        // Stop the launch before it dereferences the null pointer.
        if (isNull)
          failLaunch(here.instruction);
      }
      allocation = nullptr;
    }
  }
  if (actor.operation && record.accessKind() != AccessKind::read)
    const_cast<AsyncState *>(actor.operation)->writesGlobal = true;
  const bool isPlainRead = isReadOfMany(record);
  Page *page = nullptr;
  uint64_t pageNumber = ~uint64_t(0);
  bool isLocked = false;
  auto unlock = [&] {
    if (isLocked)
      page->lock.clear(std::memory_order_release);
    isLocked = false;
  };
  // Looks up the page that holds `at`. If it is not the current page, unlocks the current page
  // first.
  auto open = [&](uint64_t at) {
    if (at / Page::bytes != pageNumber) {
      unlock();
      pageNumber = at / Page::bytes;
      GroupState::KnownPage &known = group.pages[pageNumber % group.pages.size()];
      if (known.number != pageNumber)
        known = {pageNumber, &global.pageOf(at)};
      page = known.page;
    }
  };
  // Takes the page's lock and discards the accesses of earlier launches.
  auto lock = [&] {
    if (!isLocked)
      while (page->lock.test_and_set(std::memory_order_acquire)) {
      }
    isLocked = true;
    if (page->launch.load(std::memory_order_relaxed) != launch.id)
      page->begin(launch.id);
    if (record.hasValues && !page->values)
      page->values = std::make_unique<std::byte[]>(Page::bytes);
  };
  const bool isTracked = allocation && allocation->isTracked;
  for (uint64_t at = begin; at < end;) {
    const uint64_t base = at / Sector::bytes * Sector::bytes;
    const auto line = static_cast<uint32_t>(at % Page::bytes / Page::lineBytes);
    // Fast path: the access covers a whole line that no thread has accessed yet.
    if (options.races && !isTracked && at % Page::lineBytes == 0 && end - at >= Page::lineBytes) {
      open(at);
      const auto index = static_cast<uint32_t>(at % Page::bytes / Sector::bytes);
      if (!isPlainRead || !page->isSettled(launch.id, index)) {
        lock();
        if (!(page->touched >> line & 1)) {
          page->touched |= uint64_t(1) << line;
          page->lines[line] = inSector(record, at, run.address, run.lane);
          if (record.hasValues)
            copyStored(at, at + Page::lineBytes, page->values.get() + at % Page::bytes);
          at += Page::lineBytes;
          continue;
        }
      }
    }
    const uint64_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    const AccessRecord here = inSector(record, base, run.address, run.lane);
    if (isTracked) {
      std::atomic<uint32_t> &word = allocation->wordOf(base < allocation->begin ? at : base);
      const uint32_t written = word.load(std::memory_order_relaxed);
      if (record.accessKind() != AccessKind::write && (mask & ~written) != 0 && options.uninit) {
        const auto byte = static_cast<uint32_t>(std::countr_zero(mask & ~written));
        unlock();
        reportSimple(FindingKind::uninitialised, here, byte,
                     "read of global memory that was never written", base + byte,
                     "write it first: with a copy from the host, a memset or an earlier kernel");
        word.fetch_or(mask, std::memory_order_relaxed);
      } else if (record.accessKind() != AccessKind::read && (mask & ~written) != 0) {
        word.fetch_or(mask, std::memory_order_relaxed);
      }
    }
    if (options.races) {
      open(at);
      const auto index = static_cast<uint32_t>(base % Page::bytes / Sector::bytes);
      if (!isPlainRead || !page->isSettled(launch.id, index)) {
        lock();
        page->splitLine(line);
        held = page->values ? page->values.get() + base % Page::bytes : nullptr;
        heldBytes = held ? Sector::bytes : 0;
        Sector &sector = page->sectors[index];
        checkSector(actor, sector, here, mask, base);
        if (record.hasValues)
          copyStored(at, next, page->values.get() + at % Page::bytes);
        page->setSettled(index, sector.size() > 1 && isReadByTwoBlocks(sector));
      }
    }
    at = next;
  }
  unlock();
}

/// Two operations of whole warps overlap in many sectors, and the ordering is the same in all of
/// them: compute it once per event and cache it.
Detector::Ordering Detector::orderOfOperations(const Actor &actor, const AccessRecord &earlier,
                                               uint32_t byte, const AccessRecord &now) {
  GroupState::KnownOrder &known = group.orders[earlier.op % group.orders.size()];
  if (known.event != group.events || known.earlier != earlier.op || known.block != earlier.block ||
      known.kind != earlier.kind)
    known = {group.events, earlier.op, earlier.block, earlier.kind,
             static_cast<uint8_t>(orderOf(actor, earlier, byte, now))};
  return static_cast<Ordering>(known.ordering);
}

void Detector::checkSector(const Actor &actor, Sector &sector, const AccessRecord &now,
                           uint32_t mask, uint64_t address) {
  const bool isRead = now.isRead();
  bool isThere = false;
  // Fast path: most earlier accesses are ordered because the clock covers their whole warp. Proxy
  // fences matter only for accesses by other proxies.
  const std::vector<uint32_t> &epochs = actor.knowledge->base.warpEpochs();
  const uint32_t firstWarp = actor.block.warps[0].groupIndex;
  const auto knownWarps =
      static_cast<uint32_t>(epochs.size() > firstWarp ? epochs.size() - firstWarp : 0);
  const bool isGeneric = now.accessProxy() == Proxy::generic;
  auto isKnown = [&](const AccessRecord &earlier) {
    return earlier.op == 0 && earlier.block == now.block && earlier.warp < knownWarps &&
           epochs[firstWarp + earlier.warp] >= earlier.epoch;
  };
  constexpr uint32_t maxForeignReaders = 2;
  const bool isForeignReader = isReadOfMany(now);
  uint32_t foreignReaders = 0, lastForeign = 0;
  for (uint32_t i = 0; i < sector.size();) {
    SectorAccess &entry = sector[i];
    const AccessRecord &earlier = entry.record;
    const uint32_t overlap = entry.mask & mask;
    if (overlap == 0) {
      // The same access also covers other bytes of the sector: extend its entry.
      if (!isThere && earlier.sameActor(now) && earlier.kind == now.kind &&
          earlier.instruction == now.instruction && earlier.samePattern(now) &&
          earlier.proxy == now.proxy) {
        entry.mask |= mask;
        isThere = true;
      }
      ++i;
      continue;
    }
    const bool isConflict = !(isRead && earlier.isRead());
    bool allOrdered = true;
    if (!isConflict && !isKnown(earlier)) {
      // Reads never conflict with each other. Of the reads by the same lanes, keep only the last
      // one.
      if (!isThere && earlier.op == 0 && now.op == 0 && earlier.block == now.block &&
          earlier.warp == now.warp && earlier.samePattern(now) && earlier.proxy == now.proxy &&
          earlier.isStrong == now.isStrong && earlier.scope == now.scope &&
          (overlap == entry.mask || (overlap == mask && earlier.epoch == now.epoch))) {
        if (overlap == entry.mask)
          entry = {now, mask};
        isThere = true;
      } else if (earlier.sameActor(now) && earlier.isMany && overlap == mask) {
        isThere = true; // already recorded as read by several lanes
      } else if (isForeignReader && earlier.block != now.block && earlier.op == 0 &&
                 !earlier.isStrong && entry.mask == mask) {
        ++foreignReaders;
        lastForeign = i;
      }
      ++i;
      continue;
    }
    if (isGeneric && isKnown(earlier)) {
      if (isRead && !earlier.isRead()) {
        ++i;
        continue;
      }
    } else if (earlier.sameActor(now) && earlier.samePattern(now) && !now.isMany && now.op == 0) {
      // The same lanes made both accesses, so program order applies.
      if (earlier.kind == now.kind && (overlap == mask || entry.mask == overlap) &&
          earlier.isStrong == now.isStrong && !isThere) {
        entry.mask |= mask;
        isThere = true;
        ++i;
        continue;
      }
    } else {
      const uint32_t step =
          1u << std::min<uint32_t>(std::min<uint32_t>(earlier.laneShift, now.laneShift), 5);
      for (uint32_t rest = overlap; rest != 0;) {
        const auto byte = static_cast<uint32_t>(std::countr_zero(rest));
        // All these bytes belong to the same pair of lanes: compute their ordering once.
        const uint32_t alike = rest & lanesBelow(step) << (byte & ~(step - 1));
        rest &= ~alike;
        const Ordering ordering = earlier.isLaneless && now.isLaneless
                                      ? orderOfOperations(actor, earlier, byte, now)
                                      : orderOf(actor, earlier, byte, now);
        if (ordering == Ordering::ordered)
          continue;
        allOrdered = false;
        if (isConflict && !areMorallyStrong(actor, earlier, now)) {
          // Writes of equal bytes leave the same contents in either order. Both stay in the list,
          // because a later read may race with either.
          if (ordering == Ordering::unordered && storesTheSame(earlier, now, alike, address))
            continue;
          reportConflict(actor, now, earlier, byte, address + byte, ordering);
          allOrdered = true; // report the race once, then forget the earlier access
          break;
        }
      }
    }
    // Drop an earlier access that happens before this one, unless it is a write and this one is a
    // read.
    if (allOrdered && !(isRead && !earlier.isRead())) {
      entry.mask &= ~overlap;
      if (entry.mask == 0) {
        sector.remove(i);
        continue;
      }
    }
    ++i;
  }
  if (isThere)
    return;
  if (foreignReaders >= maxForeignReaders)
    sector[lastForeign] = {now, mask};
  else
    sector.add({now, mask});
}

} // namespace tilewright::vgpu::check
