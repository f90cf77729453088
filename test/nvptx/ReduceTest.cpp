// Reductions and scans over registers, lanes and warps, of every combiner.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::nvptx;
using testing::HasSubstr;

namespace {

struct Spread {
  std::string name;
  sm::Layout layout;
  int64_t warps;
};

/// Layouts of 12x100 that put the reduced dimension into registers, lanes, warps, and all of them.
std::vector<Spread> spreads() {
  std::vector<Spread> result;
  auto add = [&](std::string name, std::string text, int64_t warps) {
    std::string error;
    auto layout = sm::Layout::parse(text, &error);
    EXPECT_TRUE(layout) << text << ": " << error;
    result.push_back({name, *layout, warps});
  };
  add("registers", "[16 lane] [128 reg] copies [2 lane:16]", 1);
  add("lanes", "[4 warp, 4 reg:4] [4 reg, 32 lane]", 4);
  add("warps", "[16 lane] [8 warp, 2 lane:16, 8 reg]", 8);
  add("all", "[2 lane, 2 warp, 4 reg:4] [2 reg:2, 2 warp:2, 16 lane:2, 2 reg]", 4);
  add("groups", "[4 warp, 4 reg:8] [2 group, 2 reg:4, 8 lane:4, 4 reg] copies [4 lane]", 8);
  return result;
}

class Reduce : public testing::TestWithParam<std::tuple<const char *, int64_t>> {
protected:
  /// Reduces `dim` of 24x100 in tiles of 12x100.
  void expectEqual(std::string_view type, std::string_view init, std::string_view body,
                   double tolerance = 0, int64_t below = 0) {
    auto [chip, dim] = GetParam();
    for (const Spread &spread : spreads()) {
      std::optional<sm::Layout> reduced = spread.layout.reduce({dim});
      ASSERT_TRUE(reduced);
      const int64_t size = dim == 0 ? 100 : 12, points = 2;
      std::string text = concat(
          "#l = #sm.layout<", spread.layout.str(), ">\n#r = #sm.layout<", reduced->str(),
          ">\nsm.kernel @f grid [", points, "] inputs 1 warps ", spread.warps,
          " {\n^bb0(%i: index, %x: memref<24x100x", type, ">, %out: memref<", points, "x", size,
          "x", type,
          ">):\n  %z = arith.constant 0 : index\n"
          "  %o = affine.apply affine_map<(i) -> (i * 12)>(%i)\n"
          "  %t = tile.load %x[%o, %z] : memref<24x100x",
          type, "> -> tensor<12x100x", type, ", #l>\n  %n = arith.constant ", init, " : ", type,
          "\n  %s = tile.reduce %t init %n : ", type, " dims [", dim, "] : tensor<12x100x", type,
          ", #l> -> tensor<", size, "x", type, ", #r> {\n  ^bb0(%a: ", type, ", %b: ", type,
          "):\n    ", body, "\n    tile.yield %v : ", type,
          "\n  }\n  %w = tile.view %s affine_map<(i, j) -> (j)> : tensor<", size, "x", type,
          ", #r> -> tensor<1x", size, "x", type, ", #sm.layout<[] ", reduced->str(),
          ">>\n  tile.store %w, %out[%i, %z] : tensor<1x", size, "x", type, ", #sm.layout<[] ",
          reduced->str(), ">>, memref<", points, "x", size, "x", type, ">\n}\n");
      Comparison comparison;
      comparison.tolerance = tolerance;
      comparison.below = below;
      EXPECT_EQ(compareWithEvaluator(text, chip, comparison), "") << spread.name << "\n" << text;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, Reduce,
                         testing::Combine(testing::Values("sm_90a"), testing::Values(0, 1)),
                         [](const auto &info) {
                           return concat(std::get<0>(info.param), "_dim", std::get<1>(info.param));
                         });

TEST_P(Reduce, Sums) {
  expectEqual("i32", "7", "%v = arith.addi %a, %b : i32");
  expectEqual("i8", "0", "%v = arith.addi %a, %b : i8");
  expectEqual("i64", "-5", "%v = arith.addi %a, %b : i64");
  expectEqual("f32", "0.5", "%v = arith.addf %a, %b : f32", 1e-5);
  expectEqual("f64", "0.0", "%v = arith.addf %a, %b : f64", 1e-13);
}
TEST_P(Reduce, Extremes) {
  expectEqual("f32", "0xFF800000", "%v = arith.maximumf %a, %b : f32");
  expectEqual("f16", "0x7C00", "%v = arith.minimumf %a, %b : f16");
  expectEqual("bf16", "0xFF80", "%v = arith.maximumf %a, %b : bf16");
  expectEqual("f64", "0xFFF0000000000000", "%v = arith.maximumf %a, %b : f64");
  expectEqual("i16", "-32768", "%v = arith.maxsi %a, %b : i16");
  expectEqual("i32", "-1", "%v = arith.minui %a, %b : i32");
  expectEqual("i1", "1", "%v = arith.andi %a, %b : i1");
}
TEST_P(Reduce, CombinersOfManyOps) {
  // A combiner without a known neutral element: the value of larger magnitude.
  expectEqual("i32", "0",
              "%c31 = arith.constant 31 : i32\n    %p = arith.shrsi %a, %c31 : i32\n"
              "    %q = arith.shrsi %b, %c31 : i32\n    %r = arith.xori %a, %p : i32\n"
              "    %s = arith.xori %b, %q : i32\n    %v = arith.maxsi %r, %s : i32");
}

TEST(ReduceOfTwo, IndexOfTheLargest) {
  for (const Spread &spread : spreads()) {
    std::string l = spread.layout.str(), r = spread.layout.reduce({1})->str();
    std::string text = concat("#l = #sm.layout<", l, ">\n#r = #sm.layout<", r, R"(>
      sm.kernel @f grid [2] inputs 1 warps )",
                              spread.warps, R"( {
      ^bb0(%i: index, %x: memref<24x100xi8>, %best: memref<24xi8>, %at: memref<24xi32>):
        %z = arith.constant 0 : index
        %o = affine.apply affine_map<(i) -> (i * 12)>(%i)
        %t = tile.load %x[%o, %z] : memref<24x100xi8> -> tensor<12x100xi8, #l>
        %k = tile.iota %z dim 1 : tensor<12x100xi32, #l>
        %n = arith.constant -128 : i8
        %m = arith.constant 1000 : i32
        %s, %w = tile.reduce %t, %k init %n, %m : i8, i32 dims [1]
            : tensor<12x100xi8, #l>, tensor<12x100xi32, #l> -> tensor<12xi8, #r>, tensor<12xi32, #r> {
        ^bb0(%a: i8, %ai: i32, %b: i8, %bi: i32):
          %gt = arith.cmpi sgt, %a, %b : i8
          %eq = arith.cmpi eq, %a, %b : i8
          %lt = arith.cmpi slt, %ai, %bi : i32
          %e = arith.andi %eq, %lt : i1
          %first = arith.ori %gt, %e : i1
          %v = arith.select %first, %a, %b : i8
          %vi = arith.select %first, %ai, %bi : i32
          tile.yield %v, %vi : i8, i32
        }
        tile.store %s, %best[%o] : tensor<12xi8, #r>, memref<24xi8>
        tile.store %w, %at[%o] : tensor<12xi32, #r>, memref<24xi32>
      })");
    EXPECT_EQ(compareWithEvaluator(text, "sm_90a", {}), "") << spread.name;
  }
}

/// Two consecutive reductions share memory; the second waits until the first has been read.
TEST(ReduceInALoop, NormalisesRows) {
  EXPECT_EQ(compareWithEvaluator(R"(
    #l = #sm.layout<[2 reg:4] [4 warp, 32 lane, 4 reg]>
    #r = #sm.layout<[2 reg] copies [4 warp, 32 lane]>
    sm.kernel @f grid [3] inputs 1 warps 4 {
    ^bb0(%i: index, %x: memref<24x500xf32>, %out: memref<24x500xf32>):
      %z = arith.constant 0 : index
      %two = arith.constant 2 : index
      %eight = arith.constant 8 : index
      %low = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      scf.for %j = %z to %eight step %two {
        %o = affine.apply affine_map<(i, j) -> (i * 8 + j)>(%i, %j)
        %t = tile.load %x[%o, %z] : memref<24x500xf32> -> tensor<2x500xf32, #l>
        %m = tile.reduce %t init %low : f32 dims [1] : tensor<2x500xf32, #l> -> tensor<2xf32, #r> {
        ^bb0(%a: f32, %b: f32):
          %v = arith.maximumf %a, %b : f32
          tile.yield %v : f32
        }
        %mb = tile.view %m affine_map<(i, j) -> (i)> : tensor<2xf32, #r> -> tensor<2x500xf32, #l>
        %e = tile.map(%t, %mb) : (tensor<2x500xf32, #l>, tensor<2x500xf32, #l>) -> tensor<2x500xf32, #l> {
        ^bb0(%a: f32, %b: f32):
          %d = arith.subf %a, %b : f32
          %v = math.exp %d : f32
          tile.yield %v : f32
        }
        %s = tile.reduce %e init %zero : f32 dims [1] : tensor<2x500xf32, #l> -> tensor<2xf32, #r> {
        ^bb0(%a: f32, %b: f32):
          %v = arith.addf %a, %b : f32
          tile.yield %v : f32
        }
        %sb = tile.view %s affine_map<(i, j) -> (i)> : tensor<2xf32, #r> -> tensor<2x500xf32, #l>
        %y = tile.map(%e, %sb) : (tensor<2x500xf32, #l>, tensor<2x500xf32, #l>) -> tensor<2x500xf32, #l> {
        ^bb0(%a: f32, %b: f32):
          %v = arith.divf %a, %b : f32
          tile.yield %v : f32
        }
        tile.store %y, %out[%o, %z] : tensor<2x500xf32, #l>, memref<24x500xf32>
      }
    })",
                                 "sm_90a", {.tolerance = 1e-6}),
            "");
}

class Scan : public testing::TestWithParam<std::tuple<const char *, int64_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(Chips, Scan,
                         testing::Combine(testing::Values("sm_80"), testing::Values(0, 1),
                                          testing::Bool()),
                         [](const auto &info) {
                           return concat(std::get<0>(info.param), "_dim", std::get<1>(info.param),
                                         std::get<2>(info.param) ? "_reverse" : "");
                         });

TEST_P(Scan, SumsUpToEachElement) {
  auto [chip, dim, reverse] = GetParam();
  for (const Spread &spread : spreads())
    for (std::string body :
         {"%v = arith.addi %a, %b : i32",
          // Not commutative: b if it is odd, otherwise a.
          "%one = arith.constant 1 : i32\n    %odd = arith.andi %b, %one : i32\n"
          "    %c = arith.cmpi eq, %odd, %one : i32\n    %v = arith.select %c, %b, %a : i32"}) {
      std::string text = concat(
          "#l = #sm.layout<", spread.layout.str(), ">\nsm.kernel @f grid [2] inputs 1 warps ",
          spread.warps,
          " {\n^bb0(%i: index, %x: memref<24x100xi32>, %out: memref<24x100xi32>):\n"
          "  %z = arith.constant 0 : index\n  %o = affine.apply affine_map<(i) -> (i * 12)>(%i)\n"
          "  %t = tile.load %x[%o, %z] : memref<24x100xi32> -> tensor<12x100xi32, #l>\n"
          "  %n = arith.constant 3 : i32\n  %s = tile.scan %t init %n : i32 dim ",
          dim, reverse ? " reverse" : "",
          " : tensor<12x100xi32, #l> -> tensor<12x100xi32, #l> {\n"
          "  ^bb0(%a: i32, %b: i32):\n    ",
          body,
          "\n    tile.yield %v : i32\n  }\n"
          "  tile.store %s, %out[%o, %z] : tensor<12x100xi32, #l>, memref<24x100xi32>\n}\n");
      EXPECT_EQ(compareWithEvaluator(text, chip, {}), "") << spread.name << "\n" << text;
    }
}

/// A report on a kernel names the line of the user's program: here of the sum whose barrier
/// is missing.
TEST(Report, NamesTheLineOfTheProgram) {
  Comparison broken;
  broken.change = [](std::string text) {
    const std::string barrier = "call void @llvm.nvvm.barrier";
    const size_t at = text.find(barrier, text.find("define"));
    EXPECT_NE(at, std::string::npos) << text;
    return text.erase(at, text.find('\n', at) - at);
  };
  EXPECT_THAT(compareWithEvaluator(R"(
#l = #sm.layout<[8 warp, 32 lane]>
#r = #sm.layout<copies [8 warp, 32 lane]>
sm.kernel @f grid [2] inputs 1 warps 8 {
^bb0(%i: index, %x: memref<512xf32>, %out: memref<2xf32>):
  %o = affine.apply affine_map<(i) -> (i * 256)>(%i) loc("model.py":3:1)
  %t = tile.load %x[%o] : memref<512xf32> -> tensor<256xf32, #l> loc("model.py":4:1)
  %n = arith.constant 0.0 : f32
  %s = tile.reduce %t init %n : f32 dims [0] : tensor<256xf32, #l> -> tensor<f32, #r> {
  ^bb0(%a: f32, %b: f32):
    %v = arith.addf %a, %b : f32 loc("model.py":7:5)
    tile.yield %v : f32
  } loc("model.py":7:5)
  %w = tile.view %s affine_map<(i) -> ()> : tensor<f32, #r> -> tensor<1xf32, #sm.layout<[] copies [8 warp, 32 lane]>>
  tile.store %w, %out[%i] : tensor<1xf32, #sm.layout<[] copies [8 warp, 32 lane]>>, memref<2xf32> loc("model.py":9:1)
}
)",
                                   "sm_90a", broken),
              HasSubstr("model.py:7"));
}

} // namespace
