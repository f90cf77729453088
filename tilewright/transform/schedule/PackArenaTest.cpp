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

TEST(PackArena, RandomLivesNeverCollideAndStayNearTheFloor) {
  std::mt19937 random(20);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBuffer> buffers(200);
    std::vector<int64_t> live(1100);
    for (ArenaBuffer &buffer : buffers) {
      buffer.interval.begin = static_cast<int64_t>(random() % 1000);
      buffer.interval.end = buffer.interval.begin + static_cast<int64_t>(random() % 100);
      buffer.bytes = static_cast<int64_t>(random() % 10'000);
      for (int64_t t = buffer.interval.begin; t <= buffer.interval.end; ++t)
        live[static_cast<size_t>(t)] += (buffer.bytes + 63) / 64 * 64;
    }
    int64_t floor = *std::max_element(live.begin(), live.end());
    int64_t size = packArena(buffers);
    EXPECT_GE(size, floor);
    EXPECT_LE(size, 2 * floor);
    for (size_t a = 0; a < buffers.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        const ArenaBuffer &x = buffers[a], &y = buffers[b];
        EXPECT_EQ(x.offset % bufferAlignment, 0);
        EXPECT_LE(x.offset + x.bytes, size);
        if (x.interval.overlaps(y.interval)) {
          EXPECT_TRUE(x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset ||
                      x.bytes == 0 || y.bytes == 0);
        }
      }
  }
}

} // namespace
