#include "tilewright/vgpu/machine/Async.h"

#include "tilewright/support/Concat.h"

#include <bit>

namespace tilewright::vgpu::machine {

uint64_t laneAddress(const AddressForm &form, const std::byte *registers, unsigned lane) {
  if (form.bytes == 4)
    return static_cast<uint32_t>(word(registers, form.slot, lane) + uint32_t(form.offset));
  return longWord(registers, form.slot, lane) + static_cast<uint64_t>(form.offset);
}

void observeRange(Warp &warp, const Op *op, unsigned lane, Space space, uint64_t address,
                  uint32_t bytes, AccessKind kind, Proxy proxy) {
  Observer *observer = warp.block->group->grid->observer;
  if (!observer)
    return;
  uint64_t addresses[32] = {};
  addresses[lane] = space == Space::shared ? address | sharedWindow : address;
  observer->access({warp, op, 1u << lane, addresses, bytes, kind, proxy, Order::weak, Scope::none});
}

// mbarriers: bits 0-19 pending, 20-39 expected, 40-60 transaction bytes, 61-63 phase.

Mbarrier Mbarrier::load(const std::byte *from) {
  uint64_t bits;
  std::memcpy(&bits, from, 8);
  Mbarrier barrier;
  barrier.pending = bits & 0xfffff;
  barrier.expected = bits >> 20 & 0xfffff;
  barrier.bytes = static_cast<int32_t>(static_cast<uint32_t>(bits >> 40 & 0x1fffff) << 11) >> 11;
  barrier.phase = static_cast<uint32_t>(bits >> 61);
  return barrier;
}
void Mbarrier::store(std::byte *to) const {
  const uint64_t bits = uint64_t(pending & 0xfffff) | uint64_t(expected & 0xfffff) << 20 |
                        uint64_t(static_cast<uint32_t>(bytes) & 0x1fffff) << 40 |
                        uint64_t(phase & 7) << 61;
  std::memcpy(to, &bits, 8);
}
bool Mbarrier::completeIfDone() {
  if (pending != 0 || bytes != 0)
    return false;
  ++phase;
  pending = expected;
  return true;
}

static std::byte *barrierAt(Warp &warp, const Op *op, const AddressForm &form, uint64_t address,
                            unsigned lane) {
  return resolve(warp, op, form.space, address, lane, 8);
}

bool completeBytes(Warp &warp, const Op *op, const AddressForm &form, uint64_t address,
                   unsigned lane, uint32_t bytes) {
  std::byte *where = barrierAt(warp, op, form, address, lane);
  if (!where)
    return false;
  Mbarrier barrier = Mbarrier::load(where);
  barrier.bytes -= static_cast<int32_t>(bytes);
  barrier.completeIfDone();
  barrier.store(where);
  ++warp.block->group->progress;
  return true;
}

/// Whether the phase of parity `parity` is over.
static bool isOver(const Mbarrier &barrier, uint32_t parity) {
  return (barrier.phase & 1) != (parity & 1);
}

bool isMbarrierReady(Warp &warp, const Fragment &fragment) {
  const auto *where = reinterpret_cast<const std::byte *>(fragment.object);
  return isOver(Mbarrier::load(where), fragment.wanted);
}

static void tell(Warp &warp, const Op *op, uint32_t mask, SyncKind kind, uint64_t object) {
  if (Observer *observer = warp.block->group->grid->observer)
    observer->synchronise({warp, op, mask, kind, Order::acquireRelease, Scope::cluster, object});
}

static bool misuse(Warp &warp, const Op *op, const std::string &what) {
  fault(warp, op, Error::vgpuBarrier, what);
  return false;
}

/// One lane arrives; false after a fault.
static bool arrive(Warp &warp, const Op *op, const MbarrierForm &form, std::byte *registers,
                   unsigned lane, std::byte *where) {
  Mbarrier barrier = Mbarrier::load(where);
  const uint64_t before = [&] {
    uint64_t bits;
    std::memcpy(&bits, where, 8);
    return bits;
  }();
  const uint32_t value = form.hasCount || form.expects ? word(registers, form.value, lane) : 1;
  const uint32_t count = form.expects ? 1 : value;
  if (form.expects)
    barrier.bytes += static_cast<int32_t>(value);
  if (count > barrier.pending)
    return misuse(warp, op,
                  concat(count, " arrivals at an mbarrier that waits for ", barrier.pending));
  barrier.pending -= count;
  if (form.drops)
    barrier.expected -= std::min(count, barrier.expected);
  const bool completed = barrier.completeIfDone();
  if (completed && form.noComplete)
    return misuse(warp, op, "an arrival with .noComplete completes the phase");
  barrier.store(where);
  ++warp.block->group->progress;
  if (form.returns)
    setLongWord(registers, form.result, lane, before);
  return true;
}

After runMbarrier(Warp &warp, const Op *op, std::byte *registers, uint32_t mask, uint32_t active) {
  const auto &form = *static_cast<const MbarrierForm *>(op->extra);
  if (form.operation == MbarrierOperation::pendingCount) {
    for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      setWord(registers, form.result, lane,
              static_cast<uint32_t>(longWord(registers, form.value, lane) & 0xfffff));
    }
    return After::next;
  }
  uint32_t over = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = laneAddress(form.address, registers, lane);
    std::byte *where = barrierAt(warp, op, form.address, address, lane);
    if (!where)
      return After::stop;
    switch (form.operation) {
    case MbarrierOperation::init: {
      const uint32_t count = word(registers, form.value, lane);
      if (count == 0 || count > 0xfffff) {
        misuse(warp, op, concat("an mbarrier is for 1 to 2^20 - 1 arrivals, not ", count));
        return After::stop;
      }
      Mbarrier barrier;
      barrier.pending = barrier.expected = count;
      barrier.store(where);
      break;
    }
    case MbarrierOperation::invalidate:
      std::memset(where, 0, 8);
      break;
    case MbarrierOperation::expectTx: {
      Mbarrier barrier = Mbarrier::load(where);
      barrier.bytes += static_cast<int32_t>(word(registers, form.value, lane));
      barrier.store(where);
      break;
    }
    case MbarrierOperation::completeTx:
      if (!completeBytes(warp, op, form.address, address, lane, word(registers, form.value, lane)))
        return After::stop;
      break;
    case MbarrierOperation::arrive:
      if (!arrive(warp, op, form, registers, lane, where))
        return After::stop;
      break;
    default: {
      const Mbarrier barrier = Mbarrier::load(where);
      const uint32_t parity =
          form.byParity ? word(registers, form.value, lane) & 1
                        : static_cast<uint32_t>(longWord(registers, form.value, lane) >> 61) & 1;
      if (isOver(barrier, parity))
        over |= 1u << lane;
      else if (form.operation == MbarrierOperation::tryWait) {
        // Waits until the phase is over; then all lanes look again.
        parkFragment(warp, {op, warp.frame, mask, Wait::mbarrier, parity,
                            reinterpret_cast<uint64_t>(where)});
        return After::resume;
      }
      break;
    }
    }
  }
  const SyncKind kind = form.operation == MbarrierOperation::init     ? SyncKind::mbarrierInit
                        : form.operation == MbarrierOperation::arrive ? SyncKind::mbarrierArrive
                                                                      : SyncKind::mbarrierWait;
  tell(warp, op, active, kind,
       laneAddress(form.address, registers, static_cast<unsigned>(std::countr_zero(active))));
  if (form.operation == MbarrierOperation::testWait ||
      form.operation == MbarrierOperation::tryWait) {
    const uint32_t old = predicateOf(registers, form.result);
    setWord(registers, form.result, 0, (old & ~active) | over);
  }
  return After::next;
}

// Copies complete when they are issued.

After runCpAsync(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::byte *to =
        resolve(warp, op, form.to.space, laneAddress(form.to, registers, lane), lane, form.bytes);
    if (!to)
      return After::stop;
    uint32_t bytes = form.bytes;
    if (form.sizeIsPredicate) {
      const bool isIgnored =
          ((predicateOf(registers, form.sizeSlot) >> lane & 1) != 0) != form.sizeIsFlipped;
      bytes = isIgnored ? 0 : bytes;
    } else if (form.hasSourceSize) {
      bytes = std::min(bytes, word(registers, form.sizeSlot, lane));
    }
    std::byte staged[16] = {};
    if (bytes != 0) {
      const std::byte *from = resolve(warp, op, form.from.space,
                                      laneAddress(form.from, registers, lane), lane, form.bytes);
      if (!from)
        return After::stop;
      std::memcpy(staged, from, bytes);
      observeRange(warp, op, lane, form.from.space, laneAddress(form.from, registers, lane), bytes,
                   AccessKind::read, Proxy::generic);
    }
    std::memcpy(to, staged, form.bytes);
    observeRange(warp, op, lane, form.to.space, laneAddress(form.to, registers, lane), form.bytes,
                 AccessKind::write, Proxy::generic);
  }
  return After::next;
}

/// The copies are done, so the arrival is at once. Without .noinc the count was
/// raised by one before, so nothing is left to do.
After runCpAsyncMbarrier(Warp &warp, const Op *op, std::byte *registers, uint32_t,
                         uint32_t active) {
  const auto &form = *static_cast<const MbarrierForm *>(op->extra);
  if (!form.noComplete) // .noinc is told by this field
    return After::next;
  MbarrierForm plain = form;
  plain.noComplete = false;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::byte *where =
        barrierAt(warp, op, form.address, laneAddress(form.address, registers, lane), lane);
    if (!where || !arrive(warp, op, plain, registers, lane, where))
      return After::stop;
  }
  return After::next;
}

/// The addresses of `address` in every block that a multicast goes to.
static uint32_t targetsOf(const CopyForm &form, const std::byte *registers, unsigned lane) {
  if (!form.isMulticast)
    return 0;
  uint16_t mask;
  std::memcpy(&mask, registers + form.multicast + 2 * size_t(lane), 2);
  return mask;
}
static uint64_t inBlock(uint64_t address, unsigned rank) {
  return (address & ~uint64_t(0xff000000u)) | uint64_t(rank + 1) << sharedOffsetBits;
}

/// Elements of `from` combined into `to`.
static void reduce(const AtomicForm &form, std::byte *to, const std::byte *from, size_t bytes) {
  for (size_t i = 0; i + form.bytes <= bytes; i += form.bytes) {
    uint64_t operand = 0;
    std::memcpy(&operand, from + i, form.bytes);
    atomicApply(form, to + i, operand, 0);
  }
}

After runBulk(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint32_t bytes = word(registers, form.sizeSlot, lane);
    const uint64_t to = laneAddress(form.to, registers, lane);
    if (bytes % 16 != 0) {
      fault(warp, op, Error::vgpuAccess,
            concat("a bulk copy is of a multiple of 16 bytes, not ", bytes));
      return After::stop;
    }
    if (bytes == 0)
      continue;
    // 16 bytes are the alignment; both ends of the range must be inside.
    auto range = [&](Space space, uint64_t address) -> std::byte * {
      std::byte *first = resolve(warp, op, space, address, lane, 16);
      return first && resolve(warp, op, space, address + bytes - 16, lane, 16) ? first : nullptr;
    };
    const std::byte *source = range(form.from.space, laneAddress(form.from, registers, lane));
    if (!source)
      return After::stop;
    observeRange(warp, op, lane, form.from.space, laneAddress(form.from, registers, lane), bytes,
                 AccessKind::read, Proxy::async);
    const uint32_t targets = targetsOf(form, registers, lane);
    const uint64_t mbarrier = form.hasMbarrier ? laneAddress(form.mbarrier, registers, lane) : 0;
    for (unsigned rank = 0; rank < (targets ? 16u : 1u); ++rank) {
      if (targets && !(targets >> rank & 1))
        continue;
      std::byte *destination = range(form.to.space, targets ? inBlock(to, rank) : to);
      if (!destination)
        return After::stop;
      observeRange(warp, op, lane, form.to.space, targets ? inBlock(to, rank) : to, bytes,
                   form.reduction ? AccessKind::atomic : AccessKind::write, Proxy::async);
      if (form.reduction)
        reduce(*form.reduction, destination, source, bytes);
      else
        std::memmove(destination, source, bytes);
      if (form.hasMbarrier &&
          !completeBytes(warp, op, form.mbarrier, targets ? inBlock(mbarrier, rank) : mbarrier,
                         lane, bytes))
        return After::stop;
    }
  }
  return After::next;
}

After runStAsync(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const AccessForm &values = form.values;
  const uint32_t bytes = uint32_t(values.elementBytes) * values.count;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::byte *to =
        resolve(warp, op, form.to.space, laneAddress(form.to, registers, lane), lane, bytes);
    if (!to)
      return After::stop;
    for (unsigned i = 0; i < values.count; ++i) {
      const std::byte *from = registers + values.slots[i] + size_t(lane) * values.elementBytes;
      if (form.reduction)
        reduce(*form.reduction, to + size_t(i) * values.elementBytes, from, values.elementBytes);
      else
        std::memcpy(to + size_t(i) * values.elementBytes, from, values.elementBytes);
    }
    if (!completeBytes(warp, op, form.mbarrier, laneAddress(form.mbarrier, registers, lane), lane,
                       bytes))
      return After::stop;
  }
  return After::next;
}

// Clusters. Threads that exited count as arrived.

static ClusterBarrier &clusterOf(const Block &block) {
  Group &group = *block.group;
  return group.clusters[block.clusterBase / volume(group.grid->cluster)];
}
static void completeCluster(const Block &block) {
  Group &group = *block.group;
  ClusterBarrier &barrier = clusterOf(block);
  uint32_t alive = 0;
  const uint64_t blocks = volume(group.grid->cluster);
  for (uint64_t i = 0; i < blocks; ++i)
    for (const Warp &warp : group.blocks[block.clusterBase + i].warps)
      alive += static_cast<uint32_t>(std::popcount(warp.alive));
  if (barrier.arrived >= alive) {
    barrier.arrived = 0;
    ++barrier.generation;
  }
}
After runClusterArrive(Warp &warp, const Op *op, std::byte *, uint32_t, uint32_t active) {
  tell(warp, op, active, SyncKind::clusterArrive, 0);
  ClusterBarrier &barrier = clusterOf(*warp.block);
  warp.clusterGeneration = barrier.generation;
  barrier.arrived += static_cast<uint32_t>(std::popcount(active));
  completeCluster(*warp.block);
  ++warp.block->group->progress;
  return After::next;
}
bool isClusterReady(const Block &block, const Fragment &fragment) {
  completeCluster(block);
  return clusterOf(block).generation > fragment.object;
}
After runClusterWait(Warp &warp, const Op *op, std::byte *registers, uint32_t mask,
                     uint32_t active) {
  completeCluster(*warp.block);
  if (clusterOf(*warp.block).generation <= warp.clusterGeneration) {
    if (mask != active)
      parkFragment(warp, {op + 1, warp.frame, mask & ~active, Wait::none, 0, 0});
    parkFragment(warp, {op + 1, warp.frame, active, Wait::cluster, 0, warp.clusterGeneration});
    return After::resume;
  }
  tell(warp, op, active, SyncKind::clusterLeave, 0);
  return After::next;
}

} // namespace tilewright::vgpu::machine
