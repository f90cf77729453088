#include "tilewright/runtime/heap/OperandHeap.h"
#include "tilewright/runtime/cpu/HostMemory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>

namespace tilewright::runtime {
namespace {

/// Has room for some blocks.
class CountedMemory final : public collective::OperandMemory {
public:
  explicit CountedMemory(size_t room) : room(room) {}
  ~CountedMemory() override { EXPECT_TRUE(blocks.empty()); }
  std::byte *take(size_t bytes) override {
    if (blocks.size() == room)
      return nullptr;
    auto *block = static_cast<std::byte *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    blocks.insert(block);
    return block;
  }
  void give(std::byte *block) override {
    EXPECT_EQ(blocks.erase(block), 1U);
    std::free(block);
  }
  const size_t room;
  std::set<std::byte *> blocks;
};

constexpr size_t small = 8 * 1024, large = small + 1;

TEST(OperandHeap, LargeBlocksAreOperandMemory) {
  OperandHeap heap(std::make_unique<cpu::HostMemory>(false), {});
  auto memory = std::make_shared<CountedMemory>(10);
  std::byte *before = heap.take(large); // no engine has connected yet
  EXPECT_TRUE(heap.use(memory));
  EXPECT_FALSE(heap.use(memory));
  std::byte *first = heap.take(small), *second = heap.take(large);
  EXPECT_EQ(memory->blocks, std::set<std::byte *>{second});
  heap.give(before, large);
  heap.give(first, small);
  heap.give(second, large);
}

TEST(OperandHeap, BlocksThatNoCacheKeepArePrivate) {
  OperandHeap heap(std::make_unique<cpu::HostMemory>(false), {.maxBytes = large});
  auto memory = std::make_shared<CountedMemory>(10);
  heap.use(memory);
  std::byte *first = heap.take(large), *second = heap.take(large + 1);
  EXPECT_EQ(memory->blocks, std::set<std::byte *>{first});
  heap.give(first, large);
  heap.give(second, large + 1);
}

TEST(OperandHeap, FullMemoryIsContinuedByTheHeap) {
  OperandHeap heap(std::make_unique<cpu::HostMemory>(false), {.prefault = true});
  auto memory = std::make_shared<CountedMemory>(1);
  heap.use(memory);
  std::byte *first = heap.take(large), *second = heap.take(large);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(memory->blocks, std::set<std::byte *>{first});
  heap.give(second, large);
  heap.give(first, large);
}

TEST(OperandHeap, BlocksKeepTheMemoryOfTheirEpoch) {
  OperandHeap heap(std::make_unique<cpu::HostMemory>(false), {});
  auto first = std::make_shared<CountedMemory>(10);
  const std::weak_ptr<CountedMemory> watched = first;
  heap.use(std::move(first));
  std::byte *block = heap.take(large);
  EXPECT_TRUE(heap.use(nullptr));
  EXPECT_FALSE(watched.expired());
  heap.give(heap.take(large), large); // from the heap
  std::memset(block, 1, large);
  heap.give(block, large);
  EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace tilewright::runtime
