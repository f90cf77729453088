#include "tilewright/artifact/MemoryTimeline.h"

#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/artifact/Writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::artifact {
namespace {

using ::testing::ElementsAre;

/// first; while { body }; last: one buffer over the loop, one inside it, one after it.
Executable loopProgram() {
  Executable e;
  e.arenaBytes[0] = 256;
  e.blocks.resize(3);
  auto copy = [](const char *name) { return Step{CopyStep{}, name, ""}; };
  e.blocks[0].steps = {copy("first"), {WhileStep{1, 2, {}, -1}, "while", ""}, copy("last")};
  e.blocks[1].steps = {copy("condition")};
  e.blocks[2].steps = {copy("body")};
  const std::vector<int64_t> times[] = {{1, 3, 10}, {4}, {6}};
  addMemoryTimeline(e, times, std::vector<int64_t>{0, 128, 1, 9, 128, 128, 6, 7, 0, 64, 10, 11});
  return e;
}

TEST(MemoryTimeline, NumbersStepsInTheOrderTheyRun) {
  Executable e = loopProgram();
  std::optional<MemoryTimeline> memory = MemoryTimeline::of(e);
  ASSERT_TRUE(memory);
  std::vector<std::string> names;
  for (const Step *step : memory->steps)
    names.push_back(step->name);
  EXPECT_THAT(names, ElementsAre("first", "while", "condition", "body", "last"));
}

TEST(MemoryTimeline, FindsThePeakAndWhoHoldsIt) {
  Executable e = loopProgram();
  std::optional<MemoryTimeline> memory = MemoryTimeline::of(e);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peakBytes, 256);
  EXPECT_EQ(memory->peakTime, 6);
  EXPECT_EQ(memory->bytesAt(0), 0);
  EXPECT_EQ(memory->bytesAt(8), 128);
  EXPECT_EQ(memory->bytesAt(11), 64);
  std::vector<size_t> holders = memory->aliveAt(6);
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(memory->steps[memory->buffers[holders[0]].maker]->name, "first");
  EXPECT_EQ(memory->steps[memory->buffers[holders[1]].maker]->name, "body");
}

TEST(MemoryTimeline, NumbersThatCannotBeAreNoTimeline) {
  auto isRead = [](std::vector<int64_t> buffers) {
    Executable e = loopProgram();
    e.statistics.pop_back();
    addStatistic(e, "arena.buffers", buffers);
    return MemoryTimeline::of(e).has_value();
  };
  EXPECT_TRUE(isRead({}));
  EXPECT_TRUE(isRead({0, 256, 1, 2}));
  EXPECT_FALSE(isRead({0, 256, 1}));
  EXPECT_FALSE(isRead({0, 257, 1, 2}));
  EXPECT_FALSE(isRead({int64_t(1) << 62, int64_t(1) << 62, 1, 2}));
  EXPECT_FALSE(isRead({-64, 64, 1, 2}));
  EXPECT_FALSE(isRead({0, 64, 3, 2}));
  EXPECT_FALSE(isRead({0, 64, 1, INT64_MAX}));
  EXPECT_FALSE(isRead({0, 256, 1, 2, 0, 256, 2, 3})) << "more is alive than there is room";
  Executable without;
  without.blocks.resize(1);
  EXPECT_FALSE(MemoryTimeline::of(without));
}

TEST(Statistics, NumbersAndListsComeBack) {
  Executable e;
  addStatistic(e, "flops", 12.5);
  addStatistic(e, "list", std::vector<int64_t>{3, -4});
  EXPECT_EQ(statistic(e, "flops"), 12.5);
  EXPECT_EQ(statistic(e, "list"), std::nullopt);
  EXPECT_EQ(statistic(e, "other"), std::nullopt);
  EXPECT_THAT(statisticList(e, "list"), ElementsAre(3, -4));
  EXPECT_TRUE(statisticList(e, "flops").empty());
}

} // namespace
} // namespace tilewright::artifact
