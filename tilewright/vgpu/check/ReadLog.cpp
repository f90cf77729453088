// Reads of shared memory between barriers are only logged. See ReadLog in State.h.
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

#include <algorithm>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;
using machine::SharedReads;

/// The initial and the maximum capacity of the log in records, and the number of replays after
/// which a block's log is turned off.
static constexpr size_t firstRecords = 64, maxRecords = 16384;
static constexpr uint32_t maxReplays = 4;

/// Whether `clock` covers all accesses by the warps of `block` up to `epochs`.
static bool covers(const Clock &clock, const BlockState &block,
                   const std::vector<uint32_t> &epochs) {
  const std::vector<uint32_t> &known = clock.warpEpochs();
  for (size_t i = 0; i < epochs.size(); ++i) {
    const uint32_t index = block.warps[i].groupIndex;
    if (epochs[i] != 0 && (index >= known.size() || known[index] < epochs[i]))
      return false;
  }
  return true;
}

/// Whether every byte below `end` was written.
static bool isInitialised(BlockState &block, uint32_t end) {
  uint32_t &below = block.log.initialisedBelow;
  if (end > below) // extend as far as possible: the machine compares with `below`, too
    while (below < block.shared.bytes() && block.shared.isInitialised(below / Sector::bytes))
      below += Sector::bytes;
  return end <= below;
}

bool Detector::logRead(const MemoryEvent &event, WarpState &warp) {
  BlockState &block = *warp.block;
  ReadLog &log = block.log;
  const uint64_t own = machine::sharedWindow | machine::sharedAddress(block.rank, 0);
  if (!log.isOn || !event.hasPattern || event.kind != AccessKind::read ||
      event.order != Order::weak || event.proxy != Proxy::generic || warp.cohorts.size() != 1 ||
      (event.lowest & ~uint64_t(machine::sharedOffsetMask)) != own ||
      (event.highest & ~uint64_t(machine::sharedOffsetMask)) != own || !block.mbarriers.empty())
    return false;
  const auto end = static_cast<uint32_t>(event.highest & machine::sharedOffsetMask) + event.bytes;
  if (!isInitialised(block, end))
    return false;
  // A warp's knowledge only grows, so the result holds until the next write.
  if (log.writesSeen[warp.index] != log.writes) {
    if (!covers(warp.cohorts[0].knowledge.base, block, log.lastWrite))
      return false;
    log.writesSeen[warp.index] = log.writes;
  }
  if (!options.races)
    return true;
  if (log.records.empty()) {
    log.records.resize(firstRecords);
    log.reads.next = log.records.data();
  } else if (log.reads.next == log.reads.end) {
    if (log.records.size() < maxRecords) {
      log.records.resize(2 * log.records.size());
      log.reads.next = log.records.data() + log.records.size() / 2;
    } else {
      replay(block);
    }
  }
  log.reads.end = log.records.data() + log.records.size();
  log.lastRead[warp.index] = warp.epoch;
  if (log.isOn)
    log.gates[warp.index] = {log.reads.generation, log.initialisedBelow, warp.epoch};
  SharedReads::Record &record = *log.reads.next++;
  record = {event.op, event.mask, warp.index, warp.epoch, 1, 0, {}};
  const auto &form = *static_cast<const machine::ObserveForm *>(event.op->extra);
  for (int lane = 0; lane < 32; ++lane)
    record.addresses[lane] =
        static_cast<uint32_t>(event.addresses[lane]) - static_cast<uint32_t>(form.address.offset);
  return true;
}

void Detector::beforeSharedWrite(const Actor &actor, BlockState &block,
                                 const AccessRecord &record) {
  ReadLog &log = block.log;
  log.closeGates();
  if (!log.isEmpty()) {
    bool allKnow = true;
    for (const WarpState &warp : block.warps)
      for (const Cohort &cohort : warp.cohorts)
        allKnow = allKnow && covers(cohort.knowledge.base, block, log.lastRead);
    if (allKnow)
      log.forget();
    else
      replay(block);
  }
  // The log tracks only generic writes by the block's own warps, by their epochs. Turn it off for
  // any other writer.
  if (actor.operation || &block != &actor.block || record.accessProxy() != Proxy::generic) {
    log.isOn = false;
    return;
  }
  log.lastWrite[actor.warp.index] = actor.warp.epoch;
  ++log.writes;
}

void Detector::replay(BlockState &block) {
  ReadLog &log = block.log;
  log.closeGates();
  if (++log.replays > maxReplays)
    log.isOn = false;
  const bool wasShared = inShared;
  const MemoryEvent *const event = current;
  const Run *const run = currentRun;
  isReplay = true;
  const uint64_t own = machine::sharedWindow | machine::sharedAddress(block.rank, 0);
  for (const SharedReads::Record *record = log.records.data(); record != log.reads.next; ++record) {
    WarpState &warp = block.warps[record->warp];
    const machine::Warp &of = group.machineGroup->blocks[block.indexInGroup].warps[record->warp];
    replayEpoch = record->epoch;
    for (uint32_t round = 0; round < record->rounds; ++round) {
      const machine::Op *op = record->op + size_t(round) * record->step;
      const auto &form = *static_cast<const machine::ObserveForm *>(op->extra);
      const auto offset = static_cast<uint32_t>(form.address.offset);
      uint64_t addresses[32];
      for (int lane = 0; lane < 32; ++lane)
        addresses[lane] = own | ((record->addresses[lane] + offset) & machine::sharedOffsetMask);
      accessBy({block, warp, &warp.cohorts[0].knowledge, nullptr, warp.allLanes},
               {of, op, record->mask, addresses, form.bytes, AccessKind::read, Proxy::generic,
                Order::weak, machine::Scope::none},
               record->mask);
    }
  }
  log.forget();
  isReplay = false;
  inShared = wasShared;
  current = event;
  currentRun = run;
  log.lastRead.assign(block.warps.size(), 0);
}

/// Records a read that is known to be ordered after all writes.
void Detector::remember(Sector &sector, const AccessRecord &record, uint32_t mask) {
  for (uint32_t i = 0; i < sector.size(); ++i) {
    SectorAccess &entry = sector[i];
    if (entry.record.sameActor(record) && entry.record.isRead() &&
        entry.record.instruction == record.instruction && entry.record.samePattern(record) &&
        entry.record.proxy == record.proxy) {
      entry.mask |= mask;
      return;
    }
  }
  sector.add({record, mask});
}

} // namespace tilewright::vgpu::check
