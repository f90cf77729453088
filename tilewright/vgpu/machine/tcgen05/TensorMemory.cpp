// The allocation of tensor memory, and its bounds.
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <bit>

namespace tilewright::vgpu::machine {

static uint32_t unitsOf(uint32_t column, uint32_t count) {
  const uint32_t first = column / TensorMemory::unit;
  const uint32_t end = (column + count + TensorMemory::unit - 1) / TensorMemory::unit;
  return ((1u << end) - 1) & ~((1u << first) - 1);
}

std::optional<uint32_t> TensorMemory::allocate(uint32_t count) {
  for (uint32_t column = 0; column + count <= columns; column += unit) {
    const uint32_t wanted = unitsOf(column, count);
    if (used & wanted)
      continue;
    used |= wanted;
    starts[column / unit] = count;
    lastCount = count;
    ++changes;
    return column;
  }
  return std::nullopt;
}

bool TensorMemory::release(uint32_t column, uint32_t count) {
  if (column % unit != 0 || column >= columns || starts[column / unit] != count)
    return false;
  starts[column / unit] = 0;
  used &= ~unitsOf(column, count);
  ++changes;
  return true;
}

bool TensorMemory::holds(uint32_t column, uint32_t count) const {
  return column + count <= columns && (unitsOf(column, count) & ~used) == 0;
}

TensorMemory *tensorMemoryOf(Block &block) { return block.tensor.get(); }
TensorMemory &makeTensorMemory(Block &block) {
  if (!block.tensor)
    block.tensor = std::make_shared<TensorMemory>();
  return *block.tensor;
}

Block *peerOf(Block &block) {
  const Dim3 &cluster = block.group->grid->cluster;
  const uint32_t rank = block.rank ^ 1;
  return rank < volume(cluster) ? &block.group->blocks[block.clusterBase + rank] : nullptr;
}

static After stopWith(Warp &warp, const Op *op, const std::string &what) {
  fault(warp, op, Error::vgpuFault, what);
  return After::stop;
}

TensorMemory *resolveTensor(Warp &warp, const Op *op, const TensorRange &range,
                            std::string_view what) {
  TensorMemory *memory = tensorMemoryOf(*range.block);
  const bool isInside = range.lane + range.lanes <= TensorMemory::lanes &&
                        range.column + range.columns <= TensorMemory::columns;
  if (isInside && memory && memory->holds(range.column, range.columns))
    return memory;
  stopWith(
      warp, op,
      concat(what, " lanes ", range.lane, " to ", range.lane + range.lanes - 1, " and columns ",
             range.column, " to ", range.column + range.columns - 1, " of tensor memory",
             range.block == warp.block ? "" : " of the peer block",
             isInside ? ", which are not all allocated" : ", which has 128 lanes and 512 columns"));
  return nullptr;
}

void checkTensorFreed(Grid &grid, const Block &block) {
  if (block.tensor && !block.tensor->isEmpty())
    grid.fail(Status(Error::vgpuFault,
                     concat("block [", block.id[0], ", ", block.id[1], ", ", block.id[2],
                            "] of kernel '", grid.program->entry().name,
                            "' ends without freeing its tensor memory; every tcgen05.alloc needs "
                            "a tcgen05.dealloc")));
}

// Pairs of blocks allocate and free together: a warp of each block waits until a warp of the other
// has arrived.

static uint64_t changesOf(Block &block) {
  Block *peer = peerOf(block);
  return makeTensorMemory(block).changes + (peer ? makeTensorMemory(*peer).changes : 0);
}
bool isTensorReady(Warp &warp, const Fragment &fragment) {
  return changesOf(*warp.block) != fragment.object;
}
static After waitForChange(Warp &warp, const Op *op, uint32_t mask) {
  parkFragment(warp, {op, warp.frame, mask, Wait::tensorMemory, 0, changesOf(*warp.block)});
  return After::resume;
}

/// Makes the warp wait for a warp of the peer block. Returns whether that warp has arrived;
/// otherwise the warp must try again after a change.
static bool meetPeer(Warp &warp, TensorMemory &memory, TensorMemory &other) {
  const uint32_t own = 1u << warp.index;
  if (!(memory.waiting & own)) {
    memory.waiting |= own;
    ++memory.pairs;
    ++memory.changes;
    ++warp.block->group->progress;
  }
  if (other.pairs < memory.pairs)
    return false;
  memory.waiting &= ~own;
  return true;
}

/// The memory of the peer for an operation of a pair; null after a fault.
static TensorMemory *peerMemory(Warp &warp, const Op *op) {
  if (Block *peer = peerOf(*warp.block))
    return &makeTensorMemory(*peer);
  stopWith(warp, op,
           concat("cta_group::2 needs a cluster in which block ", warp.block->rank, " has a peer"));
  return nullptr;
}

static bool isCount(uint32_t count) {
  return std::has_single_bit(count) && count >= TensorMemory::unit &&
         count <= TensorMemory::columns;
}

After runTensorAlloc(Warp &warp, const Op *op, std::byte *registers, uint32_t mask,
                     uint32_t active) {
  const auto &form = *static_cast<const TensorAllocForm *>(op->extra);
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  const uint32_t count = word(registers, form.columns, lane);
  TensorMemory &memory = makeTensorMemory(*warp.block);
  if (!isCount(count))
    return stopWith(warp, op,
                    concat("tcgen05.alloc of ", count,
                           " columns; the number must be a power of two from 32 to 512"));
  if (memory.isRelinquished)
    return stopWith(warp, op, "tcgen05.alloc after tcgen05.relinquish_alloc_permit of this block");
  if (count > memory.lastCount)
    return stopWith(warp, op,
                    concat("tcgen05.alloc of ", count, " columns after one of ", memory.lastCount,
                           "; allocations of a block must not grow"));
  if (form.isPair) {
    TensorMemory *other = peerMemory(warp, op);
    if (!other)
      return After::stop;
    if (!meetPeer(warp, memory, *other))
      return waitForChange(warp, op, mask);
  }
  const std::optional<uint32_t> column = memory.allocate(count);
  if (!column) {
    if (form.isPair) // it has met the peer, and need not again
      memory.waiting |= 1u << warp.index;
    return waitForChange(warp, op, mask);
  }
  ++warp.block->group->progress;
  const uint64_t address = laneAddress(form.address, registers, lane);
  std::byte *to = resolve(warp, op, form.address.space, address, lane, 4);
  if (!to)
    return After::stop;
  const uint64_t written = flatAddress(warp, form.address.space, address);
  tell(warp, {.warp = warp,
              .op = op,
              .mask = active,
              .kind = SyncKind::tensorAlloc,
              .object = flatTensorAddress(*warp.block, 0, *column),
              .count = count,
              .written = written});
  AccessTeller(warp, op, AccessKind::write, Proxy::generic, 0).lane(lane, written, 4);
  std::memcpy(to, &*column, 4);
  return After::next;
}

After runTensorFree(Warp &warp, const Op *op, std::byte *registers, uint32_t mask,
                    uint32_t active) {
  const auto &form = *static_cast<const TensorAllocForm *>(op->extra);
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  const uint32_t address = word(registers, form.tensor, lane);
  const uint32_t count = word(registers, form.columns, lane);
  TensorMemory &memory = makeTensorMemory(*warp.block);
  if (form.isPair) {
    TensorMemory *other = peerMemory(warp, op);
    if (!other)
      return After::stop;
    if (!meetPeer(warp, memory, *other))
      return waitForChange(warp, op, mask);
  }
  // Every use of the columns must happen before their release, as it would before a write.
  tell(warp, {.warp = warp, .op = op, .mask = active, .kind = SyncKind::warpBarrier});
  if (isCount(count) && memory.holds(address & 0xffff, count)) {
    AccessTeller teller(warp, op, AccessKind::write, Proxy::generic, 0);
    for (uint32_t row = 0; teller && row < TensorMemory::lanes; ++row)
      teller.lane(row % 32, flatTensorAddress(*warp.block, row, address & 0xffff), 4 * count);
  }
  if (!memory.release(address, count))
    return stopWith(warp, op,
                    concat("tcgen05.dealloc of ", count, " columns at address ", address,
                           ", which is not an allocation of this block"));
  ++warp.block->group->progress;
  return After::next;
}

After runTensorRelinquish(Warp &warp, const Op *, std::byte *, uint32_t, uint32_t) {
  makeTensorMemory(*warp.block).isRelinquished = true;
  return After::next;
}

} // namespace tilewright::vgpu::machine
