#include "tilewright/runtime/cpu/library/Scratch.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

namespace tilewright::runtime::cpu {

namespace {
struct Block {
  std::byte *memory;
  size_t capacity;
};

/// The blocks that a thread caches.
class Kept {
public:
  ~Kept() {
    for (const Block &block : blocks)
      std::free(block.memory);
  }
  /// The smallest cached block that is large enough; a block without memory if there is none.
  Block take(size_t bytes) {
    auto best = blocks.end();
    for (auto block = blocks.begin(); block != blocks.end(); ++block)
      if (block->capacity >= bytes && (best == blocks.end() || block->capacity < best->capacity))
        best = block;
    if (best == blocks.end())
      return {nullptr, 0};
    const Block found = *best;
    blocks.erase(best);
    total -= found.capacity;
    return found;
  }
  void keep(Block block) {
    blocks.push_back(block);
    total += block.capacity;
    while (total > maxBytes || blocks.size() > 16) {
      total -= blocks.front().capacity;
      std::free(blocks.front().memory);
      blocks.erase(blocks.begin());
    }
  }

private:
  static constexpr size_t maxBytes = size_t(64) << 20;
  std::vector<Block> blocks;
  size_t total = 0;
};
} // namespace

static thread_local Kept kept;

Scratch::Scratch(int64_t bytes) {
  if (bytes <= 0)
    return;
  const size_t rounded = (static_cast<size_t>(bytes) + 4095) / 4096 * 4096;
  const Block block = kept.take(rounded);
  memory = block.memory;
  capacity = block.capacity;
  if (!memory) {
    memory = static_cast<std::byte *>(std::aligned_alloc(64, rounded));
    capacity = rounded;
    // Abort, because this code is built without exceptions and a constructor cannot report failure.
    if (!memory)
      std::abort();
  }
}

Scratch::~Scratch() {
  if (memory)
    kept.keep({memory, capacity});
}

} // namespace tilewright::runtime::cpu
