#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include "tilewright/vgpu/amdgcn/execute/Launch.h"

#include <cstring>

namespace tilewright::vgpu::amdgcn {

using machine::AccessKind;
using machine::AsyncId;
using machine::GroupKind;
using machine::Scope;
using machine::SyncKind;

static constexpr uint32_t allLanes = ~0u;

// -- Launches and workgroups

/// Observers of events do not use the limits and units of NVIDIA's chips.
static const machine::Chip &plainChip() { return machine::chips().front(); }

LaunchWatch::LaunchWatch(const LaunchConfig &config, const Listing &listing, uint32_t ldsBytes)
    : observer(*config.observer), listing(listing) {
  const uint32_t threads = config.block[0] * config.block[1] * config.block[2];
  grid.program = &listing;
  grid.chip = &plainChip();
  grid.grid = config.grid;
  grid.block = {(threads + laneCount - 1) / laneCount * 32, 1, 1}; // one warp for each wave
  grid.sharedBytes = ldsBytes;
  grid.observer = config.observer;
  grid.order = config.order;
  grid.device = config.device;
  observer.launchBegin(grid);
}
LaunchWatch::~LaunchWatch() { observer.launchEnd(grid); }

GroupWatch::GroupWatch(LaunchWatch &launch, Workgroup &workgroup, size_t waves) : launch(launch) {
  group.grid = &launch.grid;
  group.blocks = std::vector<machine::Block>(1);
  machine::Block &block = group.blocks[0];
  const auto &id = workgroup.id;
  const auto &grid = launch.grid.grid;
  block.group = &group;
  block.id = id;
  block.linear = id[0] + uint64_t(grid[0]) * (id[1] + uint64_t(grid[1]) * id[2]);
  block.shared = workgroup.lds.data();
  block.warps = std::vector<machine::Warp>(waves);
  for (uint32_t i = 0; i < waves; ++i) {
    block.warps[i].block = &block;
    block.warps[i].index = i;
  }
  launch.observer.groupBegin(group);
}
GroupWatch::~GroupWatch() { launch.observer.groupEnd(group); }

void GroupWatch::leaveBarrier(std::span<Wave> waves) {
  for (const Wave &wave : waves)
    if (wave.state == WaveState::atBarrier)
      launch.observer.synchronise({.warp = group.blocks[0].warps[wave.number],
                                   .op = nullptr,
                                   .mask = allLanes,
                                   .kind = SyncKind::barrierLeave,
                                   .phase = barriers});
  ++barriers;
}

// -- Accesses

static GroupKind groupOf(Counter counter) {
  switch (counter) {
  case Counter::vector:
    return GroupKind::vectorMemory;
  case Counter::local:
    return GroupKind::localMemory;
  case Counter::flat:
    return GroupKind::flatMemory;
  default:
    return GroupKind::scalarMemory;
  }
}

/// The scope of an access, from the bits sc0 and sc1. Loads and stores encode it in both bits; an
/// atomic operation has system or device scope.
static Scope scopeOf(const Op &op, bool isShared) {
  const MemoryBits &bits = op.instruction.memory;
  const bool isAtomic = op.meaning.memory && op.meaning.memory->kind == MemoryKind::atomic;
  if (isShared)
    return isAtomic ? Scope::cta : Scope::none;
  if (op.counter == Counter::scalar)
    return Scope::none;
  if (isAtomic)
    return bits.sc1 ? Scope::sys : Scope::gpu;
  if (bits.sc1)
    return bits.sc0 ? Scope::sys : Scope::gpu;
  return bits.sc0 ? Scope::cta : Scope::none;
}

AsyncId WaveWatch::issue(const Op &op) {
  const AsyncId id = group.launch.grid.nextAsync++;
  observer().synchronise({.warp = warp,
                          .op = place(op),
                          .mask = allLanes,
                          .kind = SyncKind::asyncIssue,
                          .async = id,
                          .group = groupOf(op.counter)});
  return id;
}

void WaveWatch::begin(const Op &op, AsyncId id) {
  current = &op;
  currentId = id;
  pieces.clear();
}

std::byte *WaveWatch::access(const Op &op, unsigned lane, uint64_t address, unsigned bytes,
                             std::byte *memory) {
  const bool isShared = (address & machine::windowMask) == machine::sharedWindow;
  AccessKind kind = AccessKind::read;
  if (op.counter != Counter::scalar)
    switch (op.meaning.memory->kind) {
    case MemoryKind::load:
      break;
    case MemoryKind::store:
      kind = AccessKind::write;
      break;
    case MemoryKind::loadToLds:
      kind = isShared ? AccessKind::write : AccessKind::read;
      break;
    case MemoryKind::atomic:
      kind = AccessKind::atomic;
    }
  // A wide buffer access is reported dword by dword.
  if (!pieces.empty()) {
    Piece &last = pieces.back();
    if (last.lane == lane && last.kind == kind && last.address + last.bytes == address &&
        last.memory + last.bytes == memory && last.bytes + bytes <= last.stored.size()) {
      std::byte *stored = last.stored.data() + last.bytes;
      last.bytes += bytes;
      return kind == AccessKind::write ? stored : memory;
    }
  }
  Piece &piece = pieces.emplace_back();
  piece = {lane, bytes, address, kind, memory, {}, false};
  return kind == AccessKind::write ? piece.stored.data() : memory;
}

/// Reports up to 32 pieces that are like the one at `first`.
void WaveWatch::report(size_t first) {
  const Piece &model = pieces[first];
  const bool isShared = (model.address & machine::windowMask) == machine::sharedWindow;
  uint64_t addresses[32];
  const std::byte *rows[32];
  uint32_t count = 0;
  for (size_t i = first; i < pieces.size() && count < 32; ++i) {
    Piece &piece = pieces[i];
    const bool isAlike =
        piece.bytes == model.bytes && piece.kind == model.kind &&
        ((piece.address & machine::windowMask) == machine::sharedWindow) == isShared;
    if (piece.isReported || !isAlike)
      continue;
    addresses[count] = piece.address;
    rows[count++] = piece.stored.data();
    piece.isReported = true;
  }
  const machine::StoredValues values = {.rows = rows};
  const Scope scope = scopeOf(*current, isShared);
  const machine::MemoryEvent event = {
      .warp = warp,
      .op = place(*current),
      .mask = count == 32 ? allLanes : (1u << count) - 1,
      .addresses = addresses,
      .bytes = model.bytes,
      .kind = model.kind,
      .proxy = machine::Proxy::generic,
      .order = scope == Scope::none ? machine::Order::weak : machine::Order::relaxed,
      .scope = scope,
      .async = currentId,
      .values = model.kind == AccessKind::write ? &values : nullptr};
  observer().access(event);
  if (scope != Scope::none && !isShared && model.kind != AccessKind::write)
    observer().valueRead(event);
}

void WaveWatch::end() {
  for (size_t i = 0; i < pieces.size(); ++i)
    if (!pieces[i].isReported)
      report(i);
  for (const Piece &piece : pieces)
    if (piece.kind == AccessKind::write)
      std::memcpy(piece.memory, piece.stored.data(), piece.bytes);
  pieces.clear();
}

// -- Order

void WaveWatch::wait(const Op &op, std::span<const AsyncId> operations) {
  observer().synchronise({.warp = warp,
                          .op = place(op),
                          .mask = allLanes,
                          .kind = SyncKind::asyncWait,
                          .operations = operations});
}

void WaveWatch::fence(const Op &op) {
  const MemoryBits &bits = op.instruction.memory;
  observer().synchronise({.warp = warp,
                          .op = place(op),
                          .mask = allLanes,
                          .kind = SyncKind::fence,
                          .order = machine::Order::acquireRelease,
                          .scope = bits.sc1 ? (bits.sc0 ? Scope::sys : Scope::gpu) : Scope::cta});
}

void WaveWatch::arriveAtBarrier(const Op &op) {
  observer().synchronise({.warp = warp,
                          .op = place(op),
                          .mask = allLanes,
                          .kind = SyncKind::barrierArrive,
                          .phase = group.barriers});
}

// -- Registers

void WaveWatch::useInFlight(const Op &op, unsigned slot, AsyncId operation) {
  observer().accessInFlight(warp, place(op), allLanes, slot, operation);
}

void WaveWatch::reportHazard(const Op &op, machine::HazardKind kind, const Op *other,
                             std::string message, std::string fix) {
  observer().hazard({.warp = warp,
                     .op = place(op),
                     .other = other ? place(*other) : nullptr,
                     .kind = kind,
                     .message = std::move(message),
                     .fix = std::move(fix)});
}

} // namespace tilewright::vgpu::amdgcn
