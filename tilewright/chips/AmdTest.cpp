#include "tilewright/chips/Amd.h"

#include <gtest/gtest.h>

using namespace tilewright::chips;

TEST(AmdChipsTest, EachChipHasRates) {
  for (const AmdChip &chip : amdChips()) {
    const AmdRates &rates = ratesOf(chip);
    EXPECT_EQ(rates.l2Bytes, 8 * chip.l2Bytes) << chip.name << " has 8 XCDs";
    EXPECT_EQ(rates.f8, 2 * rates.f16) << chip.name;
    // HBM3 moves four bits over each wire of the bus in a clock.
    const double bytesPerSecond =
        4e6 * chip.memoryClockMegahertz * static_cast<double>(chip.memoryBusBits) / 8;
    const double perCycle = bytesPerSecond / (1e6 * chip.clockMegahertz);
    EXPECT_NEAR(static_cast<double>(rates.memory), perCycle, 0.1 * perCycle) << chip.name;
  }
  EXPECT_NE(&ratesOf(*findAmdChip("gfx942")), &ratesOf(*findAmdChip("gfx950")));
}

TEST(AmdChipsTest, AWorkgroupMayUseAllOfLds) {
  EXPECT_EQ(findAmdChip("gfx942")->ldsPerUnit, 65536u);
  EXPECT_EQ(findAmdChip("gfx950")->ldsPerUnit, 163840u);
  EXPECT_EQ(findAmdChip("gfx90a"), nullptr);
}
