#include "tilewright/vgpu/machine/tcgen05/TensorMove.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilewright::vgpu::machine {

namespace {
/// The ranges of columns that an instruction accesses, in each of its lanes.
struct Extent {
  uint32_t lanes, columns;
  uint32_t parts;    // 2 for `split`
  uint32_t distance; // of the parts
};
} // namespace

static Extent extentOf(const TensorMoveForm &form) {
  const auto count = static_cast<uint32_t>(form.slots.size());
  const uint32_t wide = form.isPacked ? 2 : 1;
  switch (form.shape) {
  case TensorShape::lanes32:
    return {32, wide * count, 1, 0};
  case TensorShape::bits64:
    return {16, wide * 2 * count, 1, 0};
  case TensorShape::bits128:
    return {16, wide * 2 * count, 1, 0};
  case TensorShape::bits256:
    return {16, wide * 2 * count, 1, 0};
  case TensorShape::split:
    break;
  }
  return {16, wide * count, 2, form.split};
}

/// The tensor memory that the warp accesses at `address`. A warp may access the 32 lanes that
/// correspond to its position in the warpgroup. Null after a fault.
static TensorMemory *memoryFor(Warp &warp, const Op *op, const TensorMoveForm &form,
                               uint32_t address, const Extent &extent) {
  const uint32_t lane = address >> 16, column = address & 0xffff, own = 32 * (warp.index % 4);
  if (lane < own || lane + extent.lanes > own + 32 || lane % 16 != 0) {
    fault(warp, op, Error::vgpuAccess,
          concat("warp ", warp.index, " accesses lanes ", lane, " to ", lane + extent.lanes - 1,
                 " of tensor memory, but may access only lanes ", own, " to ", own + 31,
                 "; put the first lane of the warp's quarter into bits 16 to 31 of the address"));
    return nullptr;
  }
  TensorMemory *memory = nullptr;
  for (uint32_t part = 0; part < extent.parts; ++part) {
    memory = resolveTensor(
        warp, op, {warp.block, lane, extent.lanes, column + part * extent.distance, extent.columns},
        "a warp accesses");
    if (!memory)
      return nullptr;
  }
  return memory;
}

static void observeMove(Warp &warp, const Op *op, uint32_t address, const Extent &extent,
                        AccessKind kind, AsyncId id) {
  AccessTeller teller(warp, op, kind, Proxy::generic, id);
  for (uint32_t part = 0; teller && part < extent.parts; ++part)
    for (uint32_t row = 0; row < extent.lanes; ++row)
      teller.range(flatTensorAddress(*warp.block, (address >> 16) + row,
                                     (address & 0xffff) + part * extent.distance),
                   4 * extent.columns);
}

/// Calls body(thread, index, cell) for each register of each thread.
template <typename Body>
static void forCells(const TensorMoveForm &form, TensorMemory &memory, uint32_t address,
                     Body body) {
  const uint32_t lane = address >> 16, column = address & 0xffff;
  const uint32_t wide = form.isPacked ? 2 : 1;
  for (uint32_t index = 0; index < form.slots.size(); ++index)
    for (uint32_t thread = 0; thread < 32; ++thread) {
      // Packed registers hold two columns each; the distance between the halves stays the same.
      TensorCell cell = cellOf(form.shape, thread, index, 0);
      cell.column =
          wide * cell.column + (form.shape == TensorShape::split && thread >= 16 ? form.split : 0);
      body(thread, index, memory.at(lane + cell.lane, column + cell.column));
    }
}

static uint32_t reduced(const TensorReduction &reduction, uint32_t a, uint32_t b) {
  using Type = TensorReduction::Type;
  if (reduction.type == Type::u32)
    return reduction.isMin ? std::min(a, b) : std::max(a, b);
  if (reduction.type == Type::s32) {
    const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
    return static_cast<uint32_t>(reduction.isMin ? std::min(x, y) : std::max(x, y));
  }
  const auto x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (std::isnan(x) || std::isnan(y)) {
    if (reduction.propagatesNan || (std::isnan(x) && std::isnan(y)))
      return 0x7fffffffu;
    return std::isnan(x) ? b : a;
  }
  const bool isLess = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return isLess == reduction.isMin ? a : b;
}

/// The minimum or maximum of each thread's registers.
static void reduce(const TensorMoveForm &form, std::byte *registers) {
  const TensorReduction &reduction = form.reduction;
  for (uint32_t thread = 0; thread < 32; ++thread) {
    uint32_t result = 0;
    for (size_t i = 0; i < form.slots.size(); ++i) {
      uint32_t value = word(registers, form.slots[i], thread);
      if (reduction.isAbsolute)
        value &= 0x7fffffffu;
      result = i == 0 ? value : reduced(reduction, result, value);
    }
    setWord(registers, reduction.result, thread, result);
  }
}

/// A load is asynchronous only for the order of memory accesses: an instruction that uses its
/// result waits for it, so the registers can be written at once.
After runTensorLoad(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorMoveForm *>(op->extra);
  const auto address = static_cast<uint32_t>(
      laneAddress(form.address, registers, static_cast<unsigned>(std::countr_zero(active))));
  const Extent extent = extentOf(form);
  TensorMemory *memory = memoryFor(warp, op, form, address, extent);
  if (!memory)
    return After::stop;
  if (AsyncQueue *queue = warp.block->group->async.get()) {
    const AsyncId id = queue->noteIssue(warp, op, active, GroupKind::tensorLoad);
    groupsOf(warp).tensorLoads.push_back({id, form.slots});
    observeMove(warp, op, address, extent, AccessKind::read, id);
  }
  if (form.isPacked)
    forCells(form, *memory, address, [&](uint32_t thread, uint32_t index, const uint32_t *cell) {
      setWord(registers, form.slots[index], thread, (cell[0] & 0xffffu) | cell[1] << 16);
    });
  else
    forCells(form, *memory, address, [&](uint32_t thread, uint32_t index, const uint32_t *cell) {
      setWord(registers, form.slots[index], thread, *cell);
    });
  if (form.reduction.type != TensorReduction::Type::none)
    reduce(form, registers);
  return After::next;
}

/// Stores `values`, 32 words for each register.
static bool store(Warp &warp, const Op *op, uint32_t address, AsyncId id, const std::byte *values) {
  const auto &form = *static_cast<const TensorMoveForm *>(op->extra);
  const Extent extent = extentOf(form);
  TensorMemory *memory = memoryFor(warp, op, form, address, extent);
  if (!memory)
    return false;
  observeMove(warp, op, address, extent, AccessKind::write, id);
  forCells(form, *memory, address, [&](uint32_t thread, uint32_t index, uint32_t *cell) {
    const uint32_t value = word(values, 128 * index, thread);
    if (form.isPacked) {
      cell[0] = value & 0xffffu;
      cell[1] = value >> 16;
    } else {
      *cell = value;
    }
  });
  return true;
}
static bool performStore(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                         AsyncId id, Part, std::span<std::vector<std::byte>> staged) {
  return store(warp, op, static_cast<uint32_t>(requests[0].to), id, staged[0].data());
}

After runTensorStore(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorMoveForm *>(op->extra);
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  const auto address = static_cast<uint32_t>(laneAddress(form.address, registers, lane));
  std::vector<std::byte> values(128 * form.slots.size());
  for (size_t i = 0; i < form.slots.size(); ++i)
    std::memcpy(values.data() + 128 * i, registers + form.slots[i], 128);
  AsyncQueue *queue = warp.block->group->async.get();
  if (!queue)
    return store(warp, op, address, 0, values.data()) ? After::next : After::stop;
  auto operation = std::make_unique<AsyncOperation>();
  operation->warp = &warp;
  operation->op = op;
  operation->mask = active;
  operation->group = GroupKind::tensorStore;
  operation->perform = performStore;
  operation->requests.push_back({.lane = lane, .to = address});
  operation->staged.push_back(std::move(values));
  return queue->issue(std::move(operation)) ? After::next : After::stop;
}

} // namespace tilewright::vgpu::machine
