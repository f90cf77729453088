// Tensor memory: 128 lanes of 512 columns of 32 bits, of which a block allocates columns.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMEMORY_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMEMORY_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::machine {

/// The tensor memory of one block. An address is lane << 16 | column. We assume one block per
/// multiprocessor, so a block never waits for columns of another.
class TensorMemory {
public:
  static constexpr uint32_t lanes = tensorLanes, columns = tensorColumns;
  /// Columns are allocated in multiples of this number.
  static constexpr uint32_t unit = 32;

  TensorMemory() : words(size_t(lanes) * pitch) {}

  uint32_t *at(uint32_t lane, uint32_t column) {
    return words.data() + size_t(lane) * pitch + column;
  }
  const std::byte *bytes() const { return reinterpret_cast<const std::byte *>(words.data()); }
  /// The offset of a cell from bytes().
  static uint32_t offsetOf(uint32_t lane, uint32_t column) { return 4 * (lane * pitch + column); }

  /// The first of `count` columns that were free and are now allocated; none if no range is free.
  std::optional<uint32_t> allocate(uint32_t count);
  /// Whether an allocation of `count` columns begins at `column`. If so, frees it.
  bool release(uint32_t column, uint32_t count);
  /// Whether the columns are allocated.
  bool holds(uint32_t column, uint32_t count) const;
  bool isEmpty() const { return used == 0; }

  uint32_t lastCount = columns; // of the last allocation; later ones are not larger
  bool isRelinquished = false;
  uint64_t changes = 0; // grows with each event that may end a wait
  /// For allocations by pairs of blocks: how many this block has begun, and which of its warps are
  /// in one and wait for the peer.
  uint64_t pairs = 0;
  uint32_t waiting = 0;

private:
  /// The distance between lanes in words. It is not a power of two: otherwise all lanes of a column
  /// would compete for the same sets of the host's cache.
  static constexpr uint32_t pitch = columns + 16;
  std::vector<uint32_t> words;
  uint32_t used = 0;                             // units, one bit each
  std::array<uint32_t, columns / unit> starts{}; // columns of the allocation that begins at a unit
};

/// The block's tensor memory; null before the block's first allocation.
TensorMemory *tensorMemoryOf(Block &block);
/// Like tensorMemoryOf(), but creates the memory if there is none.
TensorMemory &makeTensorMemory(Block &block);
/// The other block of the pair; null if the cluster has no such block.
Block *peerOf(Block &block);
/// The address of a cell as observers see it.
inline uint64_t flatTensorAddress(const Block &block, uint32_t lane, uint32_t column) {
  return sharedWindow |
         sharedAddress(block.rank, tensorOffset + lane * 4 * tensorColumns + 4 * column);
}

/// A range of cells of one block.
struct TensorRange {
  Block *block = nullptr;
  uint32_t lane = 0, lanes = 0, column = 0, columns = 0;
};
/// The block's tensor memory if it holds the range; null after a fault.
TensorMemory *resolveTensor(Warp &warp, const Op *op, const TensorRange &range,
                            std::string_view what);

/// Checks that a block has freed its tensor memory when it ends; fails the launch if not.
void checkTensorFreed(Grid &grid, const Block &block);
/// Whether a change has occurred that a fragment in an allocation waits for.
bool isTensorReady(Warp &warp, const Fragment &fragment);

/// tcgen05.alloc, dealloc and relinquish_alloc_permit.
struct TensorAllocForm {
  ExternalForm head;
  AddressForm address;  // where alloc writes the address
  uint32_t tensor = 0;  // slot of the address that dealloc frees
  uint32_t columns = 0; // slot
  bool isPair = false;
};
After runTensorAlloc(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensorFree(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensorRelinquish(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMEMORY_H
