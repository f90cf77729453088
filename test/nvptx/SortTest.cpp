// Sorts along each dimension of tiles in every kind of layout.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <optional>

using namespace tilewright;
using namespace tilewright::nvptx;

namespace {

struct Spread {
  std::string layout;
  int64_t warps;
};

/// Layouts of 12x100 whose elements are in registers, lanes, warps, and all of them; some have
/// copies.
std::vector<Spread> spreads() {
  return {{"[16 lane] [128 reg] copies [2 lane:16]", 1},
          {"[4 warp, 4 reg:4] [4 reg, 32 lane]", 4},
          {"[16 lane] [8 warp, 2 lane:16, 8 reg]", 8},
          {"[2 lane, 2 warp, 4 reg:4] [2 reg:2, 2 warp:2, 16 lane:2, 2 reg]", 4}};
}

class Sort : public testing::TestWithParam<std::tuple<const char *, int64_t>> {
protected:
  /// Sorts `dim` of 24x100 elements and of their indices, in tiles of 12x100. Elements are small
  /// numbers, so that many are equal.
  void expectSorted(std::string_view type, std::string_view less, std::string_view limits = "",
                    std::optional<size_t> which = std::nullopt) {
    auto [chip, dim] = GetParam();
    std::vector<Spread> all = spreads();
    for (const Spread &spread : which ? std::vector{all[*which % all.size()]} : all) {
      const std::string tile = concat("tensor<12x100x", type, ", #l>"),
                        order = "tensor<12x100xi32, #l>",
                        whole = concat("memref<24x100x", type, ">");
      std::string text = concat(
          "#l = #sm.layout<", spread.layout, ">\nsm.kernel @f grid [2] inputs 1 warps ",
          spread.warps, " {\n^bb0(%p: index, %x: ", whole, ", %out: ", whole,
          ", %order: memref<24x100xi32>):\n  %z = arith.constant 0 : index\n"
          "  %seven = arith.constant 7 : index\n"
          "  %o = affine.apply affine_map<(i) -> (i * 12)>(%p)\n  %t = tile.load %x[%o, %z] : ",
          whole, " -> ", tile, "\n  %i = tile.iota %z dim ", dim, " : ", order,
          "\n  %s:2 = tile.sort %t, %i ", limits, " dim ", dim, " : ", tile, ", ", order, " -> ",
          tile, ", ", order, " {\n  ^bb0(%a: ", type, ", %b: ", type, ", %j: i32, %k: i32):\n    ",
          less, "\n    tile.yield %less : i1\n  }\n  tile.store %s#0, %out[%o, %z] : ", tile, ", ",
          whole, "\n  tile.store %s#1, %order[%o, %z] : ", order, ", memref<24x100xi32>\n}\n");
      EXPECT_EQ(compareWithEvaluator(text, chip, {.step = 1, .below = 5}), "")
          << spread.layout << "\n"
          << text;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, Sort,
                         testing::Combine(testing::Values("sm_80", "sm_90a"),
                                          testing::Values(0, 1)),
                         [](const auto &info) {
                           return concat(std::get<0>(info.param), "_dim", std::get<1>(info.param));
                         });

/// Each width in one of the layouts; SecondKeys has all of them.
TEST_P(Sort, EveryWidth) {
  const std::pair<const char *, const char *> widths[] = {
      {"i8", "cmpi slt"},  {"i16", "cmpi ugt"},  {"i32", "cmpi slt"}, {"i64", "cmpi sgt"},
      {"f16", "cmpf olt"}, {"bf16", "cmpf ogt"}, {"f64", "cmpf olt"}, {"i1", "cmpi ult"}};
  for (size_t i = 0; i < std::size(widths); ++i) {
    auto [type, comparison] = widths[i];
    expectSorted(type, concat("%less = arith.", comparison, ", %a, %b : ", type), "", i);
  }
}

TEST_P(Sort, SecondKeys) {
  expectSorted("i32", "%first = arith.cmpi slt, %a, %b : i32\n"
                      "    %equal = arith.cmpi eq, %a, %b : i32\n"
                      "    %second = arith.cmpi sgt, %j, %k : i32\n"
                      "    %both = arith.andi %equal, %second : i1\n"
                      "    %less = arith.ori %first, %both : i1");
}

TEST_P(Sort, OnlyTheFirstElements) {
  expectSorted("i32", "%less = arith.cmpi slt, %a, %b : i32", "count %seven", 1);
  expectSorted("i32", "%less = arith.cmpi slt, %a, %b : i32", "count %z", 3);
}

TEST(SortMerge, PartsOfAnyLength) {
  // Both parts are sorted before they are merged, with some elements behind them.
  for (auto [middle, count] : {std::pair(0, 256),
                               {256, 256},
                               {1, 256},
                               {100, 256},
                               {128, 200},
                               {0, 1},
                               {7, 7},
                               {60, 61},
                               {0, 0}}) {
    std::string text = concat(R"(
      #l = #sm.layout<[2 warp] [2 reg:2, 2 warp:2, 32 lane, 2 reg]>
      sm.kernel @f grid [2] inputs 1 warps 4 {
      ^bb0(%p: index, %x: memref<4x256xi32>, %out: memref<4x256xi32>, %order: memref<4x256xi32>):
        %z = arith.constant 0 : index
        %middle = arith.constant )",
                              middle, R"( : index
        %count = arith.constant )",
                              count, R"( : index
        %o = affine.apply affine_map<(i) -> (i * 2)>(%p)
        %t = tile.load %x[%o, %z] : memref<4x256xi32> -> tensor<2x256xi32, #l>
        %i = tile.iota %z dim 1 : tensor<2x256xi32, #l>
        %parts = tile.map(%t, %i) : (tensor<2x256xi32, #l>, tensor<2x256xi32, #l>) -> tensor<2x256xi32, #l> {
        ^bb0(%a: i32, %j: i32):
          %four = arith.constant 4 : i32
          %m = arith.constant )",
                              middle, R"( : i32
          %from = arith.subi %j, %m : i32
          %isFirst = arith.cmpi slt, %j, %m : i32
          %place = arith.select %isFirst, %j, %from : i32
          %v = arith.divsi %place, %four : i32
          tile.yield %v : i32
        }
        %s:2 = tile.sort %parts, %t count %count merge %middle dim 1 : tensor<2x256xi32, #l>, tensor<2x256xi32, #l> -> tensor<2x256xi32, #l>, tensor<2x256xi32, #l> {
        ^bb0(%a: i32, %b: i32, %j: i32, %k: i32):
          %less = arith.cmpi slt, %a, %b : i32
          tile.yield %less : i1
        }
        tile.store %s#0, %out[%o, %z] : tensor<2x256xi32, #l>, memref<4x256xi32>
        tile.store %s#1, %order[%o, %z] : tensor<2x256xi32, #l>, memref<4x256xi32>
      })");
    EXPECT_EQ(compareWithEvaluator(text, "sm_90a"), "") << middle << " of " << count;
  }
}

} // namespace
