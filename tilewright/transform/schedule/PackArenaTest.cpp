#include "tilewright/transform/schedule/PackArena.h"

#include "gtest/gtest.h"

#include <random>

using namespace tilewright::schedule;

namespace {

TEST(PackArena, WhatNeverMeetsSharesMemory) {
  std::vector<ArenaBuffer> buffers = {{100, {1, 2}}, {64, {3, 4}}, {10, {4, 9}}};
  EXPECT_EQ(packArena(buffers), 128);
  EXPECT_EQ(buffers[0].offset, 0);
  EXPECT_EQ(buffers[1].offset, 0);
  EXPECT_EQ(buffers[2].offset, 64);
}

TEST(PackArena, ABufferThatEndsWhenAnotherBeginsStillMeetsIt) {
  std::vector<ArenaBuffer> buffers = {{64, {1, 2}}, {64, {2, 3}}};
  EXPECT_EQ(packArena(buffers), 128);
}

TEST(PackArena, AHoleAtTheEndGrowsInsteadOfBeingLeft) {
  std::vector<ArenaBuffer> buffers = {{64, {1, 9}}, {64, {1, 2}}, {256, {3, 4}}};
  EXPECT_EQ(packArena(buffers), 64 + 256);
}

/// In program order, the large buffer does not fit between the two that are still there.
TEST(PackArena, LargeBuffersArePlacedFirstIfThatTakesLess) {
  std::vector<ArenaBuffer> buffers = {
      {64, {1, 3}}, {128, {2, 9}}, {64, {2, 3}}, {192, {4, 9}}, {64, {1, 1}}};
  EXPECT_EQ(packArena(buffers), 320);
}

TEST(PackArena, MemoryOfAResultIsUsedBeforeTheResultIsWritten) {
  std::vector<ArenaBuffer> buffers = {
      {8192, {1, 4}}, {8192, {2, 5}}, {4096, {3, 4}}, {8192, {5, 6}}, {64, {1, 2}}};
  const SpareMemory spare[] = {{8192, 5}, {12288, 6}, {100'000, 0}};
  // The first is in the smallest result that is large enough and still unused, the next two share
  // one, the third would meet what is written at 6, and the last is too small to matter.
  EXPECT_EQ(packArena(buffers, spare), 8192);
  EXPECT_EQ(buffers[0].spare, 0);
  EXPECT_EQ(buffers[1].spare, 1);
  EXPECT_EQ(buffers[2].spare, 1);
  EXPECT_NE(buffers[1].offset, buffers[2].offset);
  EXPECT_EQ(buffers[3].spare, -1);
  EXPECT_EQ(buffers[4].spare, -1);
}

TEST(PackArena, RandomLivesNeverCollideAndStayNearTheFloor) {
  std::mt19937 random(20);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBuffer> buffers(200);
    std::vector<SpareMemory> spare(round % 2 ? 8 : 0);
    for (SpareMemory &memory : spare)
      memory = {static_cast<int64_t>(random() % 200) * 64, static_cast<int64_t>(random() % 1000)};
    std::vector<int64_t> live(1100);
    for (ArenaBuffer &buffer : buffers) {
      buffer.interval.begin = static_cast<int64_t>(random() % 1000);
      buffer.interval.end = buffer.interval.begin + static_cast<int64_t>(random() % 100);
      buffer.bytes = static_cast<int64_t>(random() % 10'000);
      for (int64_t t = buffer.interval.begin; t <= buffer.interval.end; ++t)
        live[static_cast<size_t>(t)] += (buffer.bytes + 63) / 64 * 64;
    }
    int64_t floor = *std::max_element(live.begin(), live.end());
    int64_t size = packArena(buffers, spare);
    EXPECT_LE(size, floor + floor / 5);
    if (spare.empty())
      EXPECT_GE(size, floor);
    for (size_t a = 0; a < buffers.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const ArenaBuffer &x = buffers[a], &y = buffers[b];
        EXPECT_EQ(x.offset % bufferAlignment, 0);
        EXPECT_LE(x.offset + x.bytes, x.spare < 0 ? size : spare[x.spare].bytes);
        if (x.spare >= 0)
          EXPECT_LT(x.interval.end, spare[x.spare].until);
        if (x.spare == y.spare && x.interval.overlaps(y.interval)) {
          EXPECT_TRUE(x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset ||
                      x.bytes == 0 || y.bytes == 0);
        }
      }
  }
}

} // namespace
