#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/cpu/HostMemory.h"
#include "tilewright/support/Trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

namespace tilewright::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Allocator> make(int64_t limit, int64_t cache) {
  auto allocator = std::make_shared<Allocator>(std::make_unique<cpu::HostMemory>(false),
                                               Allocator::Limits{limit, cache});
  allocator->openAccount();
  return allocator;
}

TEST(Allocator, BlocksAreAlignedAndWritable) {
  auto allocator = make(1 << 30, 1 << 20);
  for (size_t bytes : {0, 1, 63, 64, 65, 1000, 70'000, 1 << 20, (4 << 20) + 1, 9 << 20}) {
    Result<Allocator::Block> block = allocator->allocate(bytes, 0, {});
    ASSERT_TRUE(block.isOk());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0U) << bytes;
    EXPECT_EQ(block->size(), bytes);
    std::memset(block->data(), 1, bytes);
  }
}

TEST(Allocator, SizeClassesGrowByAQuarterAtMost) {
  size_t before = 0;
  for (size_t bytes = 1; bytes < (1 << 21); bytes += 61) {
    const size_t rounded = Allocator::sizeClassOf(bytes);
    EXPECT_GE(rounded, bytes);
    EXPECT_GE(rounded, before);
    EXPECT_EQ(rounded % 64, 0U);
    EXPECT_EQ(Allocator::sizeClassOf(rounded), rounded);
    if (bytes > 256)
      EXPECT_LE(rounded, bytes + bytes / 4 + 64) << bytes;
    before = rounded;
  }
}

TEST(Allocator, AFreedBlockComesBackForTheSameSize) {
  auto allocator = make(1 << 30, 8 << 20);
  std::byte *first = allocator->allocate(3 << 20, 0, {})->data();
  EXPECT_GE(allocator->statistics(0).bytesCached, 3 << 20);
  Result<Allocator::Block> again = allocator->allocate(3 << 20, 0, {});
  EXPECT_EQ(again->data(), first);
  EXPECT_EQ(allocator->statistics(0).bytesCached, 0);
}

TEST(Allocator, WhatIsKeptIsBoundedAndTheOldestGoesFirst) {
  auto allocator = make(1 << 30, 2 << 20);
  {
    auto old = allocator->allocate(1 << 20, 0, {});
  }
  {
    auto young = allocator->allocate(3 << 19, 0, {});
  }
  EXPECT_EQ(allocator->statistics(0).bytesCached, 3 << 19);
  {
    auto large = allocator->allocate(4 << 20, 0, {});
  }
  EXPECT_LE(allocator->statistics(0).bytesCached, 2 << 20);
}

TEST(Allocator, WhatIsKeptIsGivenBackBeforeARequestFails) {
  auto allocator = make(8 << 20, 8 << 20);
  {
    auto block = allocator->allocate(6 << 20, 0, {});
  }
  EXPECT_TRUE(allocator->allocate(5 << 20, 0, {}).isOk());
  EXPECT_EQ(allocator->statistics(0).bytesCached + 0, 5 << 20);
}

TEST(Allocator, TheLimitNamesTheLargestBlocksAndTheOption) {
  auto allocator = make(16 << 20, 0);
  auto program = std::make_shared<const std::string>("jit_step");
  auto type = std::make_shared<const artifact::TensorType>(
      artifact::TensorType{numerics::ElementType::f32, {1024, 1024}});
  auto weights = allocator->allocate(4 << 20, 0, {"host array", type});
  auto result = allocator->allocate(8 << 20, 0, {"result", nullptr, program, 3});

  Status status = allocator->allocate(8 << 20, 0, {"temporaries", nullptr, program}).takeStatus();

  EXPECT_EQ(status.error(), Error::outOfMemory);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cannot allocate 8 MiB for temporaries of jit_step"));
  EXPECT_THAT(status.message(), HasSubstr("8 MiB result 3 of jit_step"));
  EXPECT_THAT(status.message(), HasSubstr("4 MiB host array, 1024x1024xf32"));
  EXPECT_THAT(status.message(), HasSubstr("runtime.memory-limit"));
  EXPECT_THAT(allocator->largest(1), ElementsAre("8 MiB result 3 of jit_step"));
}

TEST(Allocator, BlocksOfOneOriginAreCountedTogether) {
  auto allocator = make(16 << 20, 0);
  auto large = allocator->allocate(3 << 20, 0, {"copy"});
  auto first = allocator->allocate(2 << 20, 0, {"host array"});
  auto second = allocator->allocate(2 << 20, 0, {"host array"});
  EXPECT_THAT(allocator->largest(2), ElementsAre("4 MiB in 2 blocks of host array", "3 MiB copy"));
}

TEST(Allocator, ARequestBeyondAllMemoryFails) {
  auto allocator = make(int64_t(1) << 60, 0);
  EXPECT_EQ(allocator->allocate(~size_t(0), 0, {}).takeStatus().error(), Error::outOfMemory);
  EXPECT_EQ(allocator->allocate(size_t(1) << 59, 0, {}).takeStatus().error(), Error::outOfMemory);
  EXPECT_EQ(allocator->statistics(0).bytesInUse, 0);
}

TEST(Allocator, StatisticsAreKeptByAccount) {
  auto allocator = make(1 << 30, 0);
  Allocator::Account other = allocator->openAccount();
  {
    auto a = allocator->allocate(1 << 20, 0, {});
    auto b = allocator->allocate(2 << 20, other, {});
    EXPECT_EQ(allocator->statistics(0).bytesInUse, 1 << 20);
    EXPECT_EQ(allocator->statistics(other).bytesInUse, 2 << 20);
  }
  AllocationStatistics statistics = allocator->statistics(other);
  EXPECT_EQ(statistics.bytesInUse, 0);
  EXPECT_EQ(statistics.peakBytesInUse, 2 << 20);
  EXPECT_EQ(statistics.largestAllocation, 2 << 20);
  EXPECT_EQ(statistics.allocationCount, 1);
  EXPECT_EQ(statistics.liveCount, 0);
  EXPECT_EQ(statistics.bytesLimit, 1 << 30);
  allocator->resetPeak(other);
  EXPECT_EQ(allocator->statistics(other).peakBytesInUse, 0);
}

TEST(Allocator, WhileTracingItRemembersWhoHeldMostAtThePeak) {
  auto allocator = make(1 << 30, 0);
  trace::start();
  {
    auto large = allocator->allocate(8 << 20, 0, {"host array"});
    auto larger = allocator->allocate(9 << 20, 0, {"copy"});
  }
  auto small = allocator->allocate(1 << 20, 0, {"buffer"});
  trace::stop();
  EXPECT_THAT(allocator->largestAtPeak(), ElementsAre("9 MiB copy", "8 MiB host array"));
  EXPECT_THAT(trace::toJson(), HasSubstr("bytes in use"));
}

TEST(Allocator, ABlockKeepsItsAllocator) {
  Allocator::Block block;
  {
    auto allocator = make(1 << 30, 0);
    block = *allocator->allocate(100, 0, {});
  }
  std::memset(block.data(), 1, 100);
}

TEST(Allocator, ManyThreadsAgreeOnTheBooks) {
  auto allocator = make(64 << 20, 4 << 20);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<Allocator::Block> held;
      for (int i = 0; i < 2000; ++i) {
        Result<Allocator::Block> block = allocator->allocate(random() % 200'000, 0, {});
        if (!block.isOk())
          continue;
        if (block->size() > 0)
          *block->data() = std::byte(i);
        held.push_back(*std::move(block));
        if (held.size() > 20)
          held.erase(held.begin() + static_cast<ptrdiff_t>(random() % held.size()));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(allocator->statistics(0).bytesInUse, 0);
  EXPECT_EQ(allocator->statistics(0).liveCount, 0);
  EXPECT_LE(allocator->statistics(0).bytesCached, 4 << 20);
}

} // namespace
} // namespace tilewright::runtime
