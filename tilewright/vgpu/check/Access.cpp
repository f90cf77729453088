// Compares an access with those before it, and remembers it.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/Memory.h"

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

/// The lowest `count` lanes or bytes.
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

/// Lanes whose accesses follow each other, or are the same, are one run.
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
      // Another row of lanes often accesses the same.
      const uint32_t second = first + following + 1;
      if (second < 32 && (rest >> second & 1) && event.addresses[second] == run.address &&
          static_cast<uint32_t>(std::countr_one(follows >> second & rest >> second >> 1)) ==
              following) {
        run.isMany = true;
        rest &= ~(lanesBelow(following + 1) << second);
      }
    } else {
      // All others at the same place, neighbours or not, belong to it, unless they
      // begin a run of their own.
      uint32_t others = lanesBelow(static_cast<uint32_t>(std::countr_one(repeats >> first & above)))
                        << first << 1;
      // Of lanes that repeat their neighbour, the lowest speaks for them.
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
  Touch touch;
  touch.block = actor.block.linear;
  touch.warp = static_cast<uint8_t>(actor.warp.index);
  touch.epoch = actor.operation ? actor.operation->epoch
                : isReplay      ? replayEpoch
                                : actor.warp.epoch;
  touch.op = actor.operation ? static_cast<uint32_t>(actor.operation->id) : 0;
  touch.place = launch.placeOf(event.op);
  touch.kind = static_cast<uint8_t>(event.kind) & 3;
  touch.proxy = static_cast<uint8_t>(event.proxy) & 3;
  touch.isStrong = event.order != Order::weak;
  touch.scope = static_cast<uint8_t>(event.scope) & 7;
  touch.isLaneless = actor.operation && actor.operation->group != GroupKind::copy;
  touch.laneShift = run.shift & 7;
  touch.isMany = run.isMany;
  touch.hasValues = event.values != nullptr && event.kind == AccessKind::write;
  touch.event = group.accesses & 3;
  current = &event;
  currentRun = &run;
  const uint64_t window = run.address & machine::windowMask;
  inShared = window == machine::sharedWindow;
  if (inShared)
    accessShared(actor, touch, run);
  else if (window == 0)
    accessGlobal(actor, touch, run);
  else
    return; // local memory is each thread's own
  // One of the values stays, which is all that PTX promises for lanes of one instruction;
  // reductions of Triton store results that differ in their last bits this way.
  if (run.isMany && touch.hasValues && options.races && options.strict)
    compareLanes(actor, touch);
}

/// The byte that the run stores at an address.
std::byte Detector::storedAt(uint64_t address) const {
  const uint64_t distance = address - currentRun->address;
  if (currentRun->shift == 5)
    return current->values->at(currentRun->lane, distance);
  const auto lane = static_cast<uint32_t>(distance >> currentRun->shift);
  return current->values->at(currentRun->lane + lane, distance & (current->bytes - 1));
}

/// What the run stores from one address to another.
void Detector::copyStored(uint64_t begin, uint64_t end, std::byte *to) const {
  const machine::StoredValues &values = *current->values;
  const bool isOneElement = !values.rows && current->bytes == values.elementBytes &&
                            values.elementBytes == values.registerBytes && values.elementBytes <= 8;
  if (isOneElement && currentRun->shift != 5) {
    // Lanes that follow each other in memory do so in the register, too.
    std::memcpy(to,
                values.registers + values.slots[0] +
                    size_t(currentRun->lane) * values.registerBytes + (begin - currentRun->address),
                end - begin);
    return;
  }
  for (uint64_t at = begin; at < end; ++at)
    to[at - begin] = storedAt(at);
}

bool Detector::storesTheSame(const Touch &earlier, const Touch &now, uint32_t mask,
                             uint64_t address) const {
  if (!earlier.hasValues || !now.hasValues)
    return false;
  // Other lanes of the same instruction have not stored to shared memory yet.
  const bool isSameEvent = inShared && earlier.sameActor(now) && earlier.place == now.place &&
                           earlier.event == now.event;
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

void Detector::compareLanes(const Actor &actor, const Touch &touch) {
  const Run &run = *currentRun;
  if (run.address < Page::bytes)
    return; // there is nothing
  for (uint32_t look = current->mask & actor.cohortMask; look != 0; look &= look - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(look));
    const uint64_t distance = current->addresses[lane] - run.address;
    for (uint64_t i = 0; distance < run.length && i < current->bytes; ++i) {
      if (distance + i >= run.length ||
          current->values->at(lane, i) == storedAt(run.address + distance + i))
        continue;
      Touch now = touch, earlier = touch;
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

/// The touch as the sector sees it that begins at `base`.
static Touch inSector(Touch touch, uint64_t base, uint64_t runAddress, uint32_t lane) {
  if (touch.laneShift == 5) {
    touch.firstLane = static_cast<int8_t>(lane);
  } else {
    const auto distance = static_cast<int64_t>(base - runAddress);
    touch.firstLane = static_cast<int8_t>(int64_t(lane) + (distance >> touch.laneShift));
  }
  return touch;
}

void Detector::accessShared(const Actor &actor, const Touch &touch, const Run &run) {
  const auto offset = static_cast<uint32_t>(run.address & machine::sharedOffsetMask);
  const auto rank = static_cast<uint32_t>(run.address >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? &actor.block : group.blockAt(actor.block, rank - 1);
  if (!block || offset + run.length > uint64_t(block->sectorCount) * Sector::bytes)
    return; // the machine reports it
  if (actor.operation) {
    std::vector<uint32_t> &touched = const_cast<AsyncState *>(actor.operation)->sharedOf;
    if (std::find(touched.begin(), touched.end(), block->indexInGroup) == touched.end())
      touched.push_back(block->indexInGroup);
  } else if (block != &actor.block) {
    block->remote[actor.warp.groupIndex] = inSector(touch, 0, 0, run.lane);
  }
  if (touch.accessKind() != AccessKind::read)
    beforeSharedWrite(actor, *block, touch);
  const uint64_t flat = run.address - offset;
  for (uint32_t at = offset, end = offset + static_cast<uint32_t>(run.length); at < end;) {
    const uint32_t base = at / Sector::bytes * Sector::bytes;
    const uint32_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    const uint32_t index = base / Sector::bytes;
    Sector &sector = block->shared[index];
    const Touch here = inSector(touch, base, offset, run.lane);
    if (isReplay) {
      remember(sector, here, mask);
      at = next;
      continue;
    }
    if (block->liveMbarriers[index])
      checkMbarrierBytes(actor, *block, here, base, mask);
    if (touch.accessKind() != AccessKind::write && (mask & ~sector.initialised) != 0 &&
        options.uninit) {
      const auto byte = static_cast<uint32_t>(std::countr_zero(mask & ~sector.initialised));
      reportSimple(FindingKind::uninitialised, here, byte,
                   "shared memory is read that nobody has written", flat + base + byte,
                   "write it first, or wait for the copy that fills it before the read");
      sector.initialised |= mask;
    }
    held = block->memory ? block->memory + base : nullptr;
    heldBytes = held && block->sharedBytes > base ? block->sharedBytes - base : 0;
    if (options.races)
      checkSector(actor, sector, here, mask, flat + base);
    if (touch.accessKind() != AccessKind::read)
      sector.initialised |= mask;
    at = next;
  }
}

void Detector::checkMbarrierBytes(const Actor &, BlockState &block, const Touch &touch,
                                  uint32_t base, uint32_t mask) {
  if (!options.barriers)
    return;
  for (uint32_t i = 0; i < Sector::bytes; i += 8) {
    if ((mask >> i & 0xff) == 0)
      continue;
    auto found = block.mbarriers.find(base + i);
    if (found == block.mbarriers.end() || !found->second.isLive)
      continue;
    reportSimple(FindingKind::barrier, touch, i,
                 "the bytes of an mbarrier that is in use are accessed by something else",
                 machine::sharedWindow | machine::sharedAddress(block.rank, base + i),
                 "use mbarrier operations alone, or mbarrier.inval before the memory is used "
                 "for something else",
                 &found->second.init, "mbarrier initialised by");
  }
}

/// What many blocks read is seldom written, and then by one that none of them is ordered
/// with. While no flag orders blocks at all, some of the readers are enough.
bool Detector::isReadOfMany(const Touch &touch) const {
  return touch.isRead() && touch.op == 0 && !touch.isStrong && group.blocks.size() == 1 &&
         launch.flagCount.load(std::memory_order_relaxed) == 0;
}

/// See Page::settled.
static bool isReadByTwoBlocks(Sector &sector) {
  auto counts = [](const Entry &entry) { return entry.touch.op == 0 && !entry.touch.isStrong; };
  uint32_t byTwo = 0; // bytes
  for (uint32_t i = 0; i < sector.size(); ++i) {
    if (!sector[i].touch.isRead())
      return false;
    for (uint32_t j = 0; j < i && byTwo != ~0u; ++j)
      if (sector[i].touch.block != sector[j].touch.block && counts(sector[i]) && counts(sector[j]))
        byTwo |= sector[i].mask & sector[j].mask;
  }
  return byTwo == ~0u;
}

void Detector::accessGlobal(const Actor &actor, const Touch &touch, const Run &run) {
  const uint64_t end = run.address + run.length;
  const Allocation *allocation = nullptr;
  if (options.bounds || options.uninit) {
    allocation = launch.allocations->find(run.address);
    const bool isInside = allocation && run.address >= allocation->begin &&
                          end <= allocation->begin + allocation->bytes;
    const bool isNull = run.address < Page::bytes;
    if (!isInside && (allocation || isNull || options.strictBounds)) {
      if (options.bounds) {
        std::string message =
            allocation ? concat(run.length, " bytes are accessed ",
                                run.address < allocation->begin
                                    ? concat(allocation->begin - run.address, " bytes before")
                                    : concat(run.address - allocation->begin, " bytes into"),
                                " an allocation of ", allocation->bytes, " bytes")
                       : std::string("memory is accessed that nobody allocated");
        const Touch here = inSector(touch, run.address / 32 * 32, run.address, run.lane);
        reportSimple(FindingKind::bounds, here, static_cast<uint32_t>(run.address % 32),
                     std::move(message), run.address,
                     "compare the index with the size before the access, and check the size and "
                     "the strides that the host passes");
        // What follows would access memory that is not there.
        if (isNull || !allocation)
          failLaunch(here.place);
      }
      allocation = nullptr;
    }
  }
  if (actor.operation && touch.accessKind() != AccessKind::read)
    const_cast<AsyncState *>(actor.operation)->writesGlobal = true;
  const bool isPlainRead = isReadOfMany(touch);
  Page *page = nullptr;
  uint64_t pageNumber = ~uint64_t(0);
  bool isLocked = false;
  auto unlock = [&] {
    if (isLocked)
      page->lock.clear(std::memory_order_release);
    isLocked = false;
  };
  // With the lock, and what other launches did forgotten.
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
  auto lock = [&] {
    if (!isLocked)
      while (page->lock.test_and_set(std::memory_order_acquire)) {
      }
    isLocked = true;
    if (page->launch.load(std::memory_order_relaxed) != launch.id)
      page->begin(launch.id);
    if (touch.hasValues && !page->values)
      page->values = std::make_unique<std::byte[]>(Page::bytes);
  };
  const bool isTracked = allocation && allocation->isTracked;
  for (uint64_t at = run.address; at < end;) {
    const uint64_t base = at / Sector::bytes * Sector::bytes;
    const auto line = static_cast<uint32_t>(at % Page::bytes / Page::lineBytes);
    // A whole line that nobody has accessed yet.
    if (options.races && !isTracked && at % Page::lineBytes == 0 && end - at >= Page::lineBytes) {
      open(at);
      const auto index = static_cast<uint32_t>(at % Page::bytes / Sector::bytes);
      if (!isPlainRead || !page->isSettled(launch.id, index)) {
        lock();
        if (!(page->touched >> line & 1)) {
          page->touched |= uint64_t(1) << line;
          page->lines[line] = inSector(touch, at, run.address, run.lane);
          if (touch.hasValues)
            copyStored(at, at + Page::lineBytes, page->values.get() + at % Page::bytes);
          at += Page::lineBytes;
          continue;
        }
      }
    }
    const uint64_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    const Touch here = inSector(touch, base, run.address, run.lane);
    if (isTracked) {
      std::atomic<uint32_t> &word = allocation->wordOf(base < allocation->begin ? at : base);
      const uint32_t written = word.load(std::memory_order_relaxed);
      if (touch.accessKind() != AccessKind::write && (mask & ~written) != 0 && options.uninit) {
        const auto byte = static_cast<uint32_t>(std::countr_zero(mask & ~written));
        unlock();
        reportSimple(FindingKind::uninitialised, here, byte,
                     "global memory is read that nobody has written", base + byte,
                     "write it first: a copy from the host, a memset, or a kernel before");
        word.fetch_or(mask, std::memory_order_relaxed);
      } else if (touch.accessKind() != AccessKind::read && (mask & ~written) != 0) {
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
        if (touch.hasValues)
          copyStored(at, next, page->values.get() + at % Page::bytes);
        page->setSettled(index, sector.size() > 1 && isReadByTwoBlocks(sector));
      }
    }
    at = next;
  }
  unlock();
}

/// Two operations of whole warps meet in many sectors; the answer is that of the first.
Detector::Ordering Detector::orderOfOperations(const Actor &actor, const Touch &earlier,
                                               uint32_t byte, const Touch &now) {
  GroupState::KnownOrder &known = group.orders[earlier.op % group.orders.size()];
  if (known.event != group.events || known.earlier != earlier.op || known.block != earlier.block ||
      known.kind != earlier.kind)
    known = {group.events, earlier.op, earlier.block, earlier.kind,
             static_cast<uint8_t>(orderOf(actor, earlier, byte, now))};
  return static_cast<Ordering>(known.ordering);
}

void Detector::checkSector(const Actor &actor, Sector &sector, const Touch &now, uint32_t mask,
                           uint64_t address) {
  const bool isRead = now.isRead();
  bool isThere = false;
  // Most of what was before is known because its whole warp is. Fences of proxies
  // matter for accesses by other proxies alone.
  const std::vector<uint32_t> &epochs = actor.knowledge->base.warpEpochs();
  const uint32_t firstWarp = actor.block.warps[0].groupIndex;
  const auto knownWarps =
      static_cast<uint32_t>(epochs.size() > firstWarp ? epochs.size() - firstWarp : 0);
  const bool isGeneric = now.accessProxy() == Proxy::generic;
  auto isKnown = [&](const Touch &earlier) {
    return earlier.op == 0 && earlier.block == now.block && earlier.warp < knownWarps &&
           epochs[firstWarp + earlier.warp] >= earlier.epoch;
  };
  constexpr uint32_t mostForeignReaders = 2;
  const bool isForeignReader = isReadOfMany(now);
  uint32_t foreignReaders = 0, lastForeign = 0;
  for (uint32_t i = 0; i < sector.size();) {
    Entry &entry = sector[i];
    const Touch &earlier = entry.touch;
    const uint32_t overlap = entry.mask & mask;
    if (overlap == 0) {
      // The same access goes on in other bytes.
      if (!isThere && earlier.sameActor(now) && earlier.kind == now.kind &&
          earlier.place == now.place && earlier.samePattern(now) && earlier.proxy == now.proxy) {
        entry.mask |= mask;
        isThere = true;
      }
      ++i;
      continue;
    }
    const bool isConflict = !(isRead && earlier.isRead());
    bool allOrdered = true;
    if (!isConflict && !isKnown(earlier)) {
      // Reads never conflict; of those of the same lanes the last one is enough.
      if (!isThere && earlier.op == 0 && now.op == 0 && earlier.block == now.block &&
          earlier.warp == now.warp && earlier.samePattern(now) && earlier.proxy == now.proxy &&
          earlier.isStrong == now.isStrong && earlier.scope == now.scope &&
          (overlap == entry.mask || (overlap == mask && earlier.epoch == now.epoch))) {
        if (overlap == entry.mask)
          entry = {now, mask};
        isThere = true;
      } else if (earlier.sameActor(now) && earlier.isMany && overlap == mask) {
        isThere = true; // several lanes read it already
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
      // The same lanes.
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
        // Bytes of the same two lanes are asked about once.
        const uint32_t alike = rest & lanesBelow(step) << (byte & ~(step - 1));
        rest &= ~alike;
        const Ordering ordering = earlier.isLaneless && now.isLaneless
                                      ? orderOfOperations(actor, earlier, byte, now)
                                      : orderOf(actor, earlier, byte, now);
        if (ordering == Ordering::ordered)
          continue;
        allOrdered = false;
        if (isConflict && !areMorallyStrong(actor, earlier, now)) {
          // Writes of equal bytes leave the same in any order; both stay, for reads.
          if (ordering == Ordering::unordered && storesTheSame(earlier, now, alike, address))
            continue;
          reportConflict(actor, now, earlier, byte, address + byte, ordering);
          allOrdered = true; // told once, then forgotten
          break;
        }
      }
    }
    // What is ordered before this access need not be remembered beside it; but a
    // write stays when it is only read.
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
  if (foreignReaders >= mostForeignReaders)
    sector[lastForeign] = {now, mask};
  else
    sector.add({now, mask});
}

} // namespace tilewright::vgpu::check
