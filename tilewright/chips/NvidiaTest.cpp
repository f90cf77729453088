#include "tilewright/chips/Nvidia.h"

#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::chips;

TEST(NvidiaChipsTest, NameSpellsTheArchitecture) {
  for (const NvidiaChip &chip : nvidiaChips())
    EXPECT_EQ(chip.name, concat("sm_", chip.architecture, chip.specific ? "a" : ""));
}

TEST(NvidiaChipsTest, IsOrderedByArchitecture) {
  const auto rows = nvidiaChips();
  for (size_t i = 1; i < rows.size(); ++i)
    EXPECT_LE(rows[i - 1].architecture, rows[i].architecture) << rows[i].name;
}

TEST(NvidiaChipsTest, CompilesOnlyForRowsWithPtxAndRates) {
  for (const NvidiaChip &chip : nvidiaChips()) {
    EXPECT_EQ(chip.isFor(NvidiaChip::Use::compile), chip.ptxVersion > 0) << chip.name;
    EXPECT_EQ(chip.isFor(NvidiaChip::Use::compile), chip.rates.has_value()) << chip.name;
  }
}

TEST(NvidiaChipsTest, ReservesOneKibibyteOfSharedMemoryForEachBlock) {
  for (const NvidiaChip &chip : nvidiaChips()) {
    EXPECT_EQ(chip.sharedPerBlockOptin + 1024, chip.sharedPerMultiprocessor) << chip.name;
    EXPECT_GT(chip.sharedPerBlockOptin, NvidiaChip::sharedPerBlock) << chip.name;
  }
}

TEST(NvidiaChipsTest, HasTensorMemoryWhereItHasTcgen05) {
  for (const NvidiaChip &chip : nvidiaChips())
    if (chip.rates)
      EXPECT_EQ(chip.rates->tensorColumns > 0, chip.matrix == MatrixUnit::tcgen05) << chip.name;
}

TEST(NvidiaChipsTest, HasClustersSinceHopper) {
  for (const NvidiaChip &chip : nvidiaChips()) {
    EXPECT_EQ(chip.clusterBlocks > 0, chip.architecture >= 90) << chip.name;
    EXPECT_GE(chip.clusterBlocksNonPortable, chip.clusterBlocks) << chip.name;
  }
}

TEST(NvidiaChipsTest, FindsRowsByName) {
  ASSERT_NE(findNvidiaChip("sm_90a"), nullptr);
  EXPECT_EQ(findNvidiaChip("sm_90a")->matrix, MatrixUnit::wgmma);
  EXPECT_EQ(findNvidiaChip("sm_9"), nullptr);
  EXPECT_EQ(findNvidiaChip(""), nullptr);
}
