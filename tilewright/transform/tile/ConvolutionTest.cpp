// Tests that tiling preserves the meaning of every convolution.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright::tile {

TEST(Convolution, RandomConvolutionsKeepTheirMeaning) {
  const char *first = std::getenv("TILEWRIGHT_TEST_SEED");
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 20);
  int failures = 0;
  comparisonCounts() = {};
  for (uint64_t seed = begin; seed < end && failures < 3; ++seed) {
    const std::string text = randomConvolution(seed);
    int kernels = 0;
    const std::string difference = compareWithTiled(text, seed, /*edges=*/false, &kernels);
    if (difference.empty() && kernels == 1)
      continue;
    ADD_FAILURE() << "seed " << seed << ", " << kernels << " kernels: " << difference << "\n"
                  << text;
    ++failures;
  }
  const interpret::Compared &compared = comparisonCounts().compared;
  const int64_t elements = compared.exact + compared.bounded + compared.unknown;
  std::printf("%lld elements: %lld exact, %lld within bounds, %lld unknown\n",
              static_cast<long long>(elements), static_cast<long long>(compared.exact),
              static_cast<long long>(compared.bounded), static_cast<long long>(compared.unknown));
  EXPECT_LE(compared.unknown, elements / 10);
  for (const auto &[name, times] : comparisonCounts().evaluatedOps)
    ADD_FAILURE() << "not compiled: " << name << ", " << times << " times";
}

TEST(Convolution, AWindowWithoutPositionsHasAnEmptyResult) {
  const std::string target = "#exec.target<units = 4, tile_elements = 4096, gpu = <>, "
                             "matrix = <types = [f16]>>";
  const std::string lhs = "tensor<2x2x8x16xf16>", rhs = "tensor<3x3x16x8xf16>",
                    result = "tensor<2x0x6x8xf32>";
  const std::string text =
      concat("module attributes {exec.target = ", target, "} {\nfunc.func @main(%a: ", lhs,
             ", %b: ", rhs, ") -> ", result, " {\n%r = exec.fusion \"f\" (%a, %b) : (", lhs, ", ",
             rhs, ") -> ", result, " {\n^bb0(%0: ", lhs, ", %1: ", rhs,
             "):\n%c = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, "
             "0, 1, f], "
             "window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (",
             lhs, ", ", rhs, ") -> ", result, "\nexec.yield %c : ", result,
             "\n}\nreturn %r : ", result, "\n}\n}\n");
  EXPECT_EQ(compareWithTiled(text, 1), "") << text;
}

} // namespace tilewright::tile
