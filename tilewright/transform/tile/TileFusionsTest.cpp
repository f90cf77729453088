// Every fusion means the same before and after it is tiled.
#include "tilewright/transform/tile/TestPrograms.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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

TEST(TileFusions, ProgramsOfJaxKeepTheirMeaning) {
  const char *folder = std::getenv("TILEWRIGHT_TEST_FOLDER");
  int checked = 0;
  for (const auto &entry : std::filesystem::directory_iterator(
           folder ? folder : TILEWRIGHT_SOURCE_DIR "/test/lit/transform/tile/programs")) {
    if (entry.path().extension() != ".mlir" && entry.path().extension() != ".fused")
      continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(compareWithTiled(text.str(), 1), "") << entry.path();
    ++checked;
  }
  EXPECT_GE(checked, folder ? 1 : 6);
}

} // namespace tilewright::tile
