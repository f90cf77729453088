// Every fusion means the same before and after it is tiled.
#include "tilewright/transform/tile/TestPrograms.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright::tile {

TEST(TileFusions, RandomFusionsKeepTheirMeaning) {
  const char *first = std::getenv("TILEWRIGHT_TEST_SEED");
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 150);
  int failures = 0, whole = 0;
  for (uint64_t seed = begin; seed < end && failures < 3; ++seed) {
    const std::string text = randomFusion(seed, 1 + static_cast<int>(seed % 14));
    int kernels = 0;
    const std::string difference = compareWithTiled(text, seed, /*edges=*/false, &kernels);
    whole += kernels == 1;
    if (difference.empty())
      continue;
    ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << text;
    ++failures;
  }
  // What falls apart is correct too, but tests less.
  EXPECT_GE(whole, static_cast<int>(end - begin) * 9 / 10);
  RecordProperty("whole", whole);
}

} // namespace tilewright::tile
