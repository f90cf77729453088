// Asynchronous copies between global and shared memory. The operands of each lane are read at
// issue; the copy itself is performed then or later.
#include "tilewright/vgpu/machine/async/Async.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <bit>

namespace tilewright::vgpu::machine {

uint64_t laneAddress(const AddressForm &form, const std::byte *registers, unsigned lane) {
  if (form.bytes == 4)
    return static_cast<uint32_t>(word(registers, form.slot, lane) + uint32_t(form.offset));
  return longWord(registers, form.slot, lane) + static_cast<uint64_t>(form.offset);
}

void observeRange(Warp &warp, const Op *op, unsigned lane, Space space, uint64_t address,
                  uint32_t bytes, AccessKind kind, Proxy proxy) {
  AccessTeller teller(warp, op, kind, proxy, 0);
  if (teller)
    teller.lane(lane, flatAddress(warp, space, address), bytes);
}

After issueRequests(Warp &warp, const Op *op, uint32_t active, GroupKind kind, bool canStage,
                    PerformCopy perform, std::vector<CopyRequest> requests) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  auto operation = std::make_unique<AsyncOperation>();
  operation->warp = &warp;
  operation->op = op;
  operation->mask = active;
  operation->group = kind;
  operation->canStage = canStage;
  operation->signalsMbarrier = form.hasMbarrier;
  operation->perform = perform;
  operation->requests = std::move(requests);
  return warp.block->group->async->issue(std::move(operation)) ? After::next : After::stop;
}

// cp.async.

static bool performCpAsync(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                           AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  if (warp.block->group->grid->observer) {
    AccessTeller reads(warp, op, AccessKind::read, Proxy::generic, id);
    for (const CopyRequest &request : requests)
      if (request.sourceBytes != 0)
        reads.lane(request.lane, flatAddress(warp, form.from.space, request.from),
                   request.sourceBytes);
    reads.flush();
    AccessTeller writes(warp, op, AccessKind::write, Proxy::generic, id);
    for (const CopyRequest &request : requests)
      writes.lane(request.lane, flatAddress(warp, form.to.space, request.to), form.bytes);
  }
  for (const CopyRequest &request : requests) {
    std::byte *to = resolve(warp, op, form.to.space, request.to, request.lane, form.bytes);
    if (!to)
      return false;
    std::byte staged[16] = {};
    if (request.sourceBytes != 0) {
      const std::byte *from =
          resolve(warp, op, form.from.space, request.from, request.lane, form.bytes);
      if (!from)
        return false;
      if (request.sourceBytes == 16) {
        std::memcpy(to, from, 16); // inlined, because the size is constant
        continue;
      }
      std::memcpy(staged, from, request.sourceBytes);
    }
    std::memcpy(to, staged, form.bytes);
  }
  return true;
}

/// Copies 16 bytes for each lane at once, from global to shared memory. Returns the lanes that
/// remain: from the first one whose addresses need the general path.
static uint32_t copyPlainly(Warp &warp, const Op *op, const std::byte *registers, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  if (active == ~0u) {
    // Look all addresses up together.
    uint64_t to[32], from[32], wrong = 0, highest = 0, low = ~uint64_t(0), high = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      to[lane] = laneAddress(form.to, registers, lane);
      from[lane] = laneAddress(form.from, registers, lane);
      wrong |= (to[lane] | from[lane]) & 15;
      highest = std::max(highest, to[lane]);
      low = std::min(low, from[lane]);
      high = std::max(high, from[lane]);
    }
    constexpr uint32_t slot = validRangeSlots - 1; // as resolveGlobal()
    const uint64_t bytes = high - low + 16;
    if (wrong == 0 && highest + 16 <= warp.sharedBytes &&
        (warp.ranges[slot].holds(low, bytes) ||
         (findRange(warp, slot, low) && warp.ranges[slot].holds(low, bytes)))) {
      for (unsigned lane = 0; lane < 32; ++lane)
        std::memcpy(warp.shared + to[lane], reinterpret_cast<const std::byte *>(from[lane]), 16);
      return 0;
    }
  }
  for (; active != 0; active &= active - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(active));
    const uint64_t to = laneAddress(form.to, registers, lane);
    const uint64_t from = laneAddress(form.from, registers, lane);
    if (to % 16 != 0 || to + 16 > warp.sharedBytes || from % 16 != 0 || (from & windowMask) != 0)
      return active;
    const std::byte *source = resolveGlobal(warp, op, from, lane, 16);
    if (!source)
      return active;
    std::memcpy(warp.shared + to, source, 16);
  }
  return 0;
}

After runCpAsync(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  if (!warp.block->group->async && form.bytes == 16 && !form.hasSourceSize &&
      !form.sizeIsPredicate && form.to.space == Space::shared) {
    active = copyPlainly(warp, op, registers, active);
    if (active == 0)
      return After::next;
  }
  auto gather = [&](unsigned lane, CopyRequest &request) {
    request.to = laneAddress(form.to, registers, lane);
    request.from = laneAddress(form.from, registers, lane);
    request.sourceBytes = form.bytes;
    if (form.sizeIsPredicate) {
      const bool isIgnored =
          ((predicateOf(registers, form.sizeSlot) >> lane & 1) != 0) != form.sizeIsFlipped;
      request.sourceBytes = isIgnored ? 0 : form.bytes;
    } else if (form.hasSourceSize) {
      request.sourceBytes = std::min(form.bytes, word(registers, form.sizeSlot, lane));
    }
  };
  return issueCopies(warp, op, active, GroupKind::copy, false, performCpAsync, gather);
}

// cp.async.bulk.

uint32_t multicastTargets(const CopyForm &form, const std::byte *registers, unsigned lane) {
  if (!form.isMulticast)
    return 0;
  uint16_t mask;
  std::memcpy(&mask, registers + form.multicast + 2 * size_t(lane), 2);
  return mask;
}
uint64_t addressInBlock(uint64_t address, unsigned rank) {
  return (address & ~uint64_t(0xff000000u)) | uint64_t(rank + 1) << sharedOffsetBits;
}

uint64_t pairMbarrier(uint64_t address, unsigned rank) {
  const auto holder = static_cast<uint32_t>(address >> sharedOffsetBits & 0xff);
  return addressInBlock(address, (rank & ~1u) | (holder == 0 ? 0 : (holder - 1) & 1));
}

/// Combines each element of `to` with the corresponding element of `from`.
static void reduce(const AtomicForm &form, std::byte *to, const std::byte *from, size_t bytes) {
  for (size_t i = 0; i + form.bytes <= bytes; i += form.bytes) {
    uint64_t operand = 0;
    std::memcpy(&operand, from + i, form.bytes);
    atomicApply(form, to + i, operand, 0);
  }
}

static bool performBulk(Warp &warp, const Op *op, const CopyRequest &request, AsyncId id, Part part,
                        std::vector<std::byte> *staged) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const uint32_t bytes = request.bytes;
  if (bytes % 16 != 0) {
    fault(warp, op, Error::vgpuAccess,
          concat("the size of a bulk copy must be a multiple of 16 bytes, got ", bytes));
    return false;
  }
  if (bytes == 0)
    return true;
  auto range = [&](Space space, uint64_t address) {
    return resolveRange(warp, op, space, address, request.lane, bytes);
  };
  const std::byte *source = nullptr;
  if (part == Part::writes) {
    source = staged->data();
  } else {
    source = range(form.from.space, request.from);
    if (!source)
      return false;
    AccessTeller(warp, op, AccessKind::read, Proxy::async, id)
        .lane(request.lane, flatAddress(warp, form.from.space, request.from), bytes);
    if (part == Part::reads) {
      staged->assign(source, source + bytes);
      return true;
    }
  }
  for (unsigned rank = 0; rank < (form.isMulticast ? 16u : 1u); ++rank) {
    if (form.isMulticast && !(request.targets >> rank & 1))
      continue;
    const uint64_t to = form.isMulticast ? addressInBlock(request.to, rank) : request.to;
    std::byte *destination = range(form.to.space, to);
    if (!destination)
      return false;
    AccessTeller(warp, op, form.reduction ? AccessKind::atomic : AccessKind::write, Proxy::async,
                 id, form.reduction ? Order::relaxed : Order::weak,
                 form.reduction ? Scope::gpu : Scope::none)
        .lane(request.lane, flatAddress(warp, form.to.space, to), bytes,
              form.reduction || form.hasMbarrier ? nullptr : source);
    if (form.reduction)
      reduce(*form.reduction, destination, source, bytes);
    else
      std::memmove(destination, source, bytes);
    if (form.hasMbarrier &&
        !completeBytes(warp, op, form.mbarrier,
                       form.isMulticast ? addressInBlock(request.mbarrier, rank) : request.mbarrier,
                       request.lane, bytes, id))
      return false;
  }
  return true;
}
static bool performBulks(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                         AsyncId id, Part part, std::span<std::vector<std::byte>> staged) {
  for (size_t i = 0; i < requests.size(); ++i)
    if (!performBulk(warp, op, requests[i], id, part, staged.empty() ? nullptr : &staged[i]))
      return false;
  return true;
}

After runBulk(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  auto gather = [&](unsigned lane, CopyRequest &request) {
    request.bytes = word(registers, form.sizeSlot, lane);
    request.to = laneAddress(form.to, registers, lane);
    request.from = laneAddress(form.from, registers, lane);
    request.targets = multicastTargets(form, registers, lane);
    request.mbarrier = form.hasMbarrier ? laneAddress(form.mbarrier, registers, lane) : 0;
  };
  return issueCopies(warp, op, active, form.hasMbarrier ? GroupKind::none : GroupKind::bulk,
                     !form.hasMbarrier, performBulks, gather);
}

// st.async and red.async, whose values come from registers.

static bool performStAsync(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                           AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const AccessForm &values = form.values;
  for (const CopyRequest &request : requests) {
    std::byte *to = resolve(warp, op, form.to.space, request.to, request.lane, request.bytes);
    if (!to)
      return false;
    AccessTeller(warp, op, form.reduction ? AccessKind::atomic : AccessKind::write, Proxy::generic,
                 id, form.reduction ? Order::relaxed : Order::weak,
                 form.reduction ? Scope::cluster : Scope::none)
        .lane(request.lane, flatAddress(warp, form.to.space, request.to), request.bytes,
              form.reduction ? nullptr : request.values);
    for (size_t i = 0; i < request.bytes; i += values.elementBytes) {
      if (form.reduction)
        reduce(*form.reduction, to + i, request.values + i, values.elementBytes);
      else
        std::memcpy(to + i, request.values + i, values.elementBytes);
    }
    if (!completeBytes(warp, op, form.mbarrier, request.mbarrier, request.lane, request.bytes, id))
      return false;
  }
  return true;
}

After runStAsync(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const AccessForm &values = form.values;
  auto gather = [&](unsigned lane, CopyRequest &request) {
    request.bytes = uint32_t(values.elementBytes) * values.count;
    request.to = laneAddress(form.to, registers, lane);
    request.mbarrier = laneAddress(form.mbarrier, registers, lane);
    for (unsigned i = 0; i < values.count; ++i)
      std::memcpy(request.values + size_t(i) * values.elementBytes,
                  registers + values.slots[i] + size_t(lane) * values.elementBytes,
                  values.elementBytes);
  };
  return issueCopies(warp, op, active, GroupKind::none, false, performStAsync, gather);
}

// st.bulk, which is an ordinary store of zeros.

After runStBulk(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(active >> lane & 1))
      continue;
    const uint64_t bytes = longWord(registers, form.sizeSlot, lane);
    constexpr uint64_t most = 16u << 20;
    if (bytes % 8 != 0 || bytes > most) {
      fault(warp, op, Error::vgpuAccess,
            concat("the size of st.bulk must be a multiple of 8 up to ", most, " bytes, got ",
                   bytes));
      return After::stop;
    }
    if (bytes == 0)
      continue;
    const uint64_t address = laneAddress(form.to, registers, lane);
    std::byte *to = resolveRange(warp, op, form.to.space, address, lane, bytes, 8);
    if (!to)
      return After::stop;
    AccessTeller(warp, op, AccessKind::write, Proxy::generic, 0)
        .lane(lane, flatAddress(warp, form.to.space, address), static_cast<uint32_t>(bytes));
    std::memset(to, 0, bytes);
  }
  return After::next;
}

} // namespace tilewright::vgpu::machine
