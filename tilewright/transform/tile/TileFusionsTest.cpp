// Tests that tiling preserves the meaning of every fusion.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace tilewright::tile {

/// Replaces the target of `text`.
static std::string withTarget(std::string text, const std::string &target) {
  const std::string name = "exec.target = ";
  const size_t begin = text.find(name) + name.size();
  return text.replace(begin, text.find('}', begin) - begin, target);
}

using Generate = std::string (*)(uint64_t seed, int ops);

/// Compares random fusions; `target` returns the target for a seed. At least `leastWhole` percent
/// of them must become one kernel.
static void compareRandomFusions(const std::function<std::string(uint64_t)> &target,
                                 Generate generate = randomFusion, int leastWhole = 90) {
  const char *first = std::getenv("TILEWRIGHT_TEST_SEED");
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 150);
  int failures = 0, whole = 0;
  comparisonCounts() = {};
  for (uint64_t seed = begin; seed < end && failures < 3; ++seed) {
    std::string text = generate(seed, 1 + static_cast<int>(seed % 14));
    if (target)
      text = withTarget(text, target(seed));
    int kernels = 0;
    const std::string difference = compareWithTiled(text, seed, /*edges=*/false, &kernels);
    whole += kernels == 1;
    if (difference.empty())
      continue;
    ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << text;
    ++failures;
  }
  // A fusion that was split is correct too, but tests less.
  EXPECT_GE(whole, static_cast<int>(end - begin) * leastWhole / 100);
  const interpret::Compared &compared = comparisonCounts().compared;
  const int64_t elements = compared.exact + compared.bounded + compared.unknown;
  ::testing::Test::RecordProperty("whole", whole);
  ::testing::Test::RecordProperty("exact", concat(compared.exact));
  ::testing::Test::RecordProperty("bounded", concat(compared.bounded));
  ::testing::Test::RecordProperty("unknown", concat(compared.unknown));
  std::printf("%lld elements: %lld exact, %lld within bounds, %lld unknown\n",
              static_cast<long long>(elements), static_cast<long long>(compared.exact),
              static_cast<long long>(compared.bounded), static_cast<long long>(compared.unknown));
  // The comparison accepts any value for an element without a bound.
  EXPECT_LE(compared.unknown, elements / 10);
  for (const auto &[name, times] : comparisonCounts().evaluatedOps)
    ADD_FAILURE() << "not compiled: " << name << ", " << times << " times";
}

TEST(TileFusions, RandomFusionsKeepTheirMeaning) { compareRandomFusions(nullptr); }

/// A GPU whose blocks hold very few elements, so that everything is done in loops.
static std::string smallGpu(uint64_t seed) {
  return concat("#exec.target<units = ", 1 + seed % 7,
                ", tile_elements = ", int64_t(1) << (seed % 9), ", gpu = <>, matrix = <types = [",
                seed % 2 ? "f16, i32, f8E4M3FN" : "", "]>>");
}

TEST(TileFusions, RandomFusionsInLoopsKeepTheirMeaning) { compareRandomFusions(smallGpu); }

/// The time to choose tiles must not double with each dimension.
TEST(TileFusions, AFusionOfManyDimensionsIsTiled) {
  std::string text = R"(func.func @main(%x: TYPE) -> TYPE {
  %r = exec.fusion "transpose" (%x) : (TYPE) -> TYPE {
  ^bb0(%a: TYPE):
    %t = stablehlo.transpose %a, dims = [DIMS] : (TYPE) -> TYPE
    exec.yield %t : TYPE
  }
  return %r : TYPE
}
)";
  auto replace = [&](const std::string &word, const std::string &by) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
      text.replace(at, word.size(), by);
  };
  replace("TYPE", "tensor<2x2x2x2x2x2x2x2x2x2x2x2x2x2xf32>");
  replace("DIMS", "13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0");
  EXPECT_EQ(compareWithTiled(text, 0, /*edges=*/true), "");
}

TEST(TileFusions, RandomMovementIsOneKernel) { compareRandomFusions(nullptr, randomMovement, 100); }

TEST(TileFusions, RandomMovementInLoopsIsOneKernel) {
  compareRandomFusions(smallGpu, randomMovement, 100);
}

namespace {
/// A value that a broken kernel might write instead; `of` is the correct tensor.
struct Fault {
  const char *name;
  double (*damaged)(const interpret::Tensor &of, int64_t element);
};
const Fault faults[] = {
    {"all zero", [](const interpret::Tensor &, int64_t) { return 0.0; }},
    {"never written", [](const interpret::Tensor &, int64_t) { return -0x1.4b4b4ap-52; }},
    {"halved", [](const interpret::Tensor &of, int64_t i) { return of.at(i).r / 2; }},
    {"one element off by 2 %",
     [](const interpret::Tensor &of, int64_t i) {
       return of.at(i).r * (i == of.elementCount() / 2 ? 1.02 : 1);
     }},
    {"shifted by one",
     [](const interpret::Tensor &of, int64_t i) { return of.at((i + 1) % of.elementCount()).r; }},
};
} // namespace

TEST(TileFusions, APlantedFaultIsFound) {
  std::map<std::string, int> planted, found;
  std::map<std::string, std::string> missed;
  uint64_t seed = 0;
  comparisonCounts() = {};
  // Plant each fault in the results of each program, and judge them like the results of a run.
  comparisonCounts().look = [&](const std::vector<interpret::Bounded> &bounds,
                                const interpret::RuntimeValues &actual) {
    for (const Fault &fault : faults) {
      bool isPlanted = false, isFound = false;
      for (size_t r = 0; r < actual.size(); ++r) {
        const interpret::Tensor &right = actual[r].tensor();
        if (!numerics::isReal(right.type()))
          continue;
        interpret::Context context;
        interpret::Tensor wrong =
            *interpret::Tensor::allocate(right.type(), right.shape(), context);
        for (int64_t i = 0; i < right.elementCount(); ++i) {
          const double before = right.at(i).r;
          wrong.set(i, numerics::Scalar::ofReal(fault.damaged(right, i)));
          // A fault is detectable only where a bound exists and the value changed.
          isPlanted |= std::isfinite(bounds[r].bounds[static_cast<size_t>(i)]) &&
                       std::isfinite(before) && std::isfinite(wrong.at(i).r) &&
                       std::fabs(wrong.at(i).r - before) > 0.01 * std::fabs(before);
        }
        isFound |= !interpret::differenceFrom(bounds[r], wrong).empty();
      }
      planted[fault.name] += isPlanted;
      found[fault.name] += isPlanted && isFound;
      if (isPlanted && !isFound)
        missed[fault.name] += concat(" ", seed);
    }
  };
  for (; seed < 24; ++seed)
    EXPECT_EQ(compareWithTiled(randomFusion(seed, 1 + static_cast<int>(seed % 14)), seed), "");
  comparisonCounts() = {};
  for (const Fault &fault : faults) {
    std::printf("%s: %d of %d found\n", fault.name, found[fault.name], planted[fault.name]);
    EXPECT_GE(planted[fault.name], 5) << fault.name;
    EXPECT_GE(found[fault.name] * 20, planted[fault.name] * 19)
        << fault.name << ": missed with seeds" << missed[fault.name];
  }
}

TEST(TileFusions, WhatIsEmptyKeepsItsMeaning) {
  const char *bodies[] = {
      // An empty tensor.
      R"(func.func @main(%x: tensor<0x4xf32>, %p: tensor<f32>) -> tensor<0x4xf32> {
        %r = exec.fusion "f" (%x) : (tensor<0x4xf32>) -> tensor<0x4xf32> {
        ^bb0(%a: tensor<0x4xf32>):
          %v = stablehlo.negate %a : tensor<0x4xf32>
          exec.yield %v : tensor<0x4xf32>
        }
        return %r : tensor<0x4xf32>
      })",
      // A sum over an empty dimension.
      R"(func.func @main(%x: tensor<0x4xf32>, %p: tensor<f32>) -> tensor<4xf32> {
        %r = exec.fusion "f" (%x, %p) : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32> {
        ^bb0(%a: tensor<0x4xf32>, %i: tensor<f32>):
          %v = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0]
              : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
          exec.yield %v : tensor<4xf32>
        }
        return %r : tensor<4xf32>
      })",
      // Padding an empty tensor, then concatenating with an empty tensor.
      R"(func.func @main(%x: tensor<0xf32>, %p: tensor<f32>) -> tensor<5xf32> {
        %r = exec.fusion "f" (%x, %p) : (tensor<0xf32>, tensor<f32>) -> tensor<5xf32> {
        ^bb0(%a: tensor<0xf32>, %i: tensor<f32>):
          %n = stablehlo.negate %a : tensor<0xf32>
          %v = stablehlo.pad %n, %i, low = [2], high = [3], interior = [0]
              : (tensor<0xf32>, tensor<f32>) -> tensor<5xf32>
          %c = stablehlo.concatenate %a, %v, dim = 0 : (tensor<0xf32>, tensor<5xf32>) -> tensor<5xf32>
          exec.yield %c : tensor<5xf32>
        }
        return %r : tensor<5xf32>
      })"};
  for (const char *text : bodies)
    EXPECT_EQ(compareWithTiled(text, 1), "");
}

TEST(TileFusions, APlaceThatOnlyTheRunKnowsChoosesThePiece) {
  // Slices of one element of a concatenation or a pad: no dimension is left to take an iota along.
  const char *bodies[] = {
      R"(func.func @main(%x: tensor<1xi64>, %y: tensor<2xi64>, %p: tensor<i32>) -> tensor<5xi64> {
        %r = exec.fusion "f" (%x, %y, %p)
            : (tensor<1xi64>, tensor<2xi64>, tensor<i32>) -> tensor<5xi64> {
        ^bb0(%a: tensor<1xi64>, %b: tensor<2xi64>, %at: tensor<i32>):
          %c = stablehlo.concatenate %a, %b, dim = 0
              : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
          %s = stablehlo.dynamic_slice %c, %at, sizes = [1] : (tensor<3xi64>, tensor<i32>) -> tensor<1xi64>
          %v = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xi64>) -> tensor<5xi64>
          exec.yield %v : tensor<5xi64>
        }
        return %r : tensor<5xi64>
      })",
      R"(func.func @main(%x: tensor<4xf32>, %z: tensor<f32>, %p: tensor<i32>) -> tensor<1xf32> {
        %r = exec.fusion "f" (%x, %z, %p)
            : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<1xf32> {
        ^bb0(%a: tensor<4xf32>, %b: tensor<f32>, %at: tensor<i32>):
          %c = stablehlo.pad %a, %b, low = [3], high = [2], interior = [0]
              : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
          %s = stablehlo.dynamic_slice %c, %at, sizes = [1] : (tensor<9xf32>, tensor<i32>) -> tensor<1xf32>
          exec.yield %s : tensor<1xf32>
        }
        return %r : tensor<1xf32>
      })"};
  for (const char *text : bodies)
    for (uint64_t seed = 0; seed < 16; ++seed)
      EXPECT_EQ(compareWithTiled(text, seed), "");
}

TEST(TileFusions, InteriorPaddingKeepsItsGaps) {
  // Sizes, edges and steps where the quotient of an index by the step simplifies.
  struct Pad {
    int size, low, high, interior, result;
  };
  for (const Pad &pad : {Pad{1, 0, 2, 2, 3}, Pad{1, -1, 1, 2, 1}, Pad{1, 2, 0, 2, 3},
                         Pad{4, 3, 0, 2, 13}, Pad{4, -3, 1, 2, 8}, Pad{5, 6, 3, 1, 18}}) {
    const std::string from = concat("tensor<2x", pad.size, "xf32>");
    const std::string to = concat("tensor<2x", pad.result, "xf32>");
    const std::string text =
        concat("func.func @main(%x: ", from, ", %p: tensor<f32>) -> ", to,
               " {\n%r = exec.fusion \"f\" (%x, %p) : (", from, ", tensor<f32>) -> ", to,
               " {\n^bb0(%a: ", from, ", %i: tensor<f32>):\n%n = stablehlo.negate %a : ", from,
               "\n%v = stablehlo.pad %n, %i, low = [0, ", pad.low, "], high = [0, ", pad.high,
               "], interior = [0, ", pad.interior, "] : (", from, ", tensor<f32>) -> ", to,
               "\nexec.yield %v : ", to, "\n}\nreturn %r : ", to, "\n}");
    EXPECT_EQ(compareWithTiled(text, 3), "") << text;
  }
}

TEST(TileFusions, StridedSlicesOfInteriorPaddingStayInside) {
  // Strides that hit only elements, only gaps, or both, also behind the last element.
  struct Cut {
    int low, high, interior, start, stride;
  };
  for (const Cut &cut : {Cut{1, 2, 1, 1, 2}, Cut{1, 2, 1, 0, 2}, Cut{1, 2, 1, 0, 3},
                         Cut{3, 5, 2, 0, 6}, Cut{3, 5, 2, 0, 3}, Cut{-1, 9, 1, 1, 4}}) {
    const int size = 7, padded = size + (size - 1) * cut.interior + cut.low + cut.high,
              count = (padded - cut.start + cut.stride - 1) / cut.stride;
    const std::string from = concat("tensor<", size, "xf32>"),
                      whole = concat("tensor<", padded, "xf32>"),
                      to = concat("tensor<", count, "xf32>");
    const std::string text =
        concat("func.func @main(%x: ", from, ", %p: tensor<f32>) -> ", to,
               " {\n%r = exec.fusion \"f\" (%x, %p) : (", from, ", tensor<f32>) -> ", to,
               " {\n^bb0(%a: ", from, ", %i: tensor<f32>):\n%n = stablehlo.negate %a : ", from,
               "\n%v = stablehlo.pad %n, %i, low = [", cut.low, "], high = [", cut.high,
               "], interior = [", cut.interior, "] : (", from, ", tensor<f32>) -> ", whole,
               "\n%s = stablehlo.slice %v [", cut.start, ":", padded, ":", cut.stride, "] : (",
               whole, ") -> ", to, "\n%t = stablehlo.add %s, %s : ", to, "\nexec.yield %t : ", to,
               "\n}\nreturn %r : ", to, "\n}");
    EXPECT_EQ(compareWithTiled(text, 3), "") << text;
  }
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
