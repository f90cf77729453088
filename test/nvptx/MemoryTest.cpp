// Loads, stores, gathers and scatters: vectors, strides, padding, ragged shapes, grids.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::nvptx;
using testing::HasSubstr;
using testing::Not;

namespace {

class Memory : public testing::TestWithParam<const char *> {
protected:
  void expectEqual(std::string_view text, Comparison comparison = {}) {
    EXPECT_EQ(compareWithEvaluator(text, GetParam(), comparison), "") << text;
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, Memory, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

std::string copy(std::string_view type, int64_t columns, int64_t width, std::string_view layout) {
  return concat("#l = #sm.layout<", layout, ">\nsm.kernel @f grid [4, ", columns / width,
                "] inputs 1 warps 4 {\n^bb0(%i: index, %j: index, %x: memref<16x", columns, "x",
                type, ">, %out: memref<16x", columns, "x", type, ">):\n",
                "  %r = affine.apply affine_map<(i) -> (i * 4)>(%i)\n"
                "  %c = affine.apply affine_map<(i) -> (i * ",
                width,
                ")>(%j)\n"
                "  %t = tile.load %x[%r, %c] : memref<16x",
                columns, "x", type, "> -> tensor<4x", width, "x", type,
                ", #l>\n  tile.store %t, %out[%r, %c] : tensor<4x", width, "x", type,
                ", #l>, memref<16x", columns, "x", type, ">\n}\n");
}

TEST_P(Memory, CopiesTilesOfEveryWidth) {
  for (const char *type : {"i8", "f16", "f32", "f64", "complex<f32>", "complex<f64>", "i1"})
    for (int64_t width : {1, 3, 100, 256})
      for (int64_t vector : {1, 8}) {
        std::string layout = sm::Layout::blocked({4, width}, {1, 0}, vector, 32, 4).str();
        expectEqual(copy(type, 3 * width, width, layout));
      }
}

TEST(MemoryCode, SixteenBytesWhereRowsAreAligned) {
  auto ptxOf = [](std::string_view type, int64_t columns, int64_t width) {
    const int64_t vector = 16;
    std::string layout = sm::Layout::blocked({4, width}, {1, 0}, vector, 32, 4).str();
    return compileText(copy(type, columns, width, layout), *chipNamed("sm_90a"))->ptx;
  };
  EXPECT_THAT(ptxOf("f32", 1024, 512), HasSubstr("ld.global.v4.b32"));
  EXPECT_THAT(ptxOf("f32", 1024, 512), HasSubstr("st.global.v4.b32"));
  EXPECT_THAT(ptxOf("i8", 1024, 512), HasSubstr("ld.global.v4.b32"));
  // Without out-of-bounds elements there are no masks, so no predicates at all.
  EXPECT_THAT(ptxOf("f32", 1024, 512), Not(HasSubstr("@%p")));
  // Rows of 1002 f32 are aligned to eight bytes.
  EXPECT_THAT(ptxOf("f32", 1002, 334), Not(HasSubstr("v4.b32")));
  EXPECT_THAT(ptxOf("f32", 1002, 334), HasSubstr("v2.b32"));
}

TEST_P(Memory, PadsWhatIsOutside) {
  expectEqual(R"(
    #l = #sm.layout<[2 warp, 4 reg:2] [32 lane, 2 reg]>
    sm.kernel @f grid [2, 2] inputs 1 warps 2 {
    ^bb0(%i: index, %j: index, %x: memref<10x100xf32>, %out: memref<16x128xf32>):
      %r = affine.apply affine_map<(i) -> (i * 8)>(%i)
      %c = affine.apply affine_map<(i) -> (i * 64)>(%j)
      %r1 = affine.apply affine_map<(i) -> (i * 8 - 3)>(%i)
      %c1 = affine.apply affine_map<(i) -> (i * 64 - 7)>(%j)
      %p = arith.constant 2.5 : f32
      %t = tile.load %x[%r1, %c1] padding %p : f32 in_bounds [false, false]
          : memref<10x100xf32> -> tensor<8x64xf32, #l>
      tile.store %t, %out[%r, %c] : tensor<8x64xf32, #l>, memref<16x128xf32>
    })");
}

TEST_P(Memory, StepsThroughRowsAndBackwards) {
  expectEqual(R"(
    #l = #sm.layout<[4 warp, 2 reg] [32 lane]>
    sm.kernel @f grid [1] inputs 1 warps 4 {
    ^bb0(%i: index, %x: memref<24x64xf16>, %out: memref<8x96xf16>):
      %z = arith.constant 0 : index
      %last = arith.constant 63 : index
      %c = arith.constant 1 : index
      %t = tile.load %x[%c, %last] strides [3, -2] : memref<24x64xf16> -> tensor<8x32xf16, #l>
      tile.store %t, %out[%z, %z] strides [1, 3] : tensor<8x32xf16, #l>, memref<8x96xf16>
      tile.store %t, %out[%z, %c] strides [1, 3] : tensor<8x32xf16, #l>, memref<8x96xf16>
      %two = arith.constant 2 : index
      tile.store %t, %out[%z, %two] strides [1, 3] : tensor<8x32xf16, #l>, memref<8x96xf16>
    })");
}

TEST_P(Memory, OneCopyStores) {
  expectEqual(R"(
    #l = #sm.layout<[8 lane] copies [4 lane:8, 4 warp]>
    sm.kernel @f grid [4] inputs 1 warps 4 {
    ^bb0(%i: index, %x: memref<32xi32>, %out: memref<32xi32>):
      %o = affine.apply affine_map<(i) -> (i * 8)>(%i)
      %t = tile.load %x[%o] : memref<32xi32> -> tensor<8xi32, #l>
      tile.store %t, %out[%o] : tensor<8xi32, #l>, memref<32xi32>
    })");
}

TEST_P(Memory, GathersRows) {
  Comparison comparison;
  comparison.below = 20;
  expectEqual(R"(
    #v = #sm.layout<[4 warp, 4 reg] copies [32 lane]>
    #l = #sm.layout<[4 warp, 4 reg:2] [32 lane, 2 reg]>
    sm.kernel @f grid [2] inputs 2 warps 4 {
    ^bb0(%i: index, %rows: memref<26xi32>, %x: memref<20x50xf32>, %out: memref<26x50xf32>):
      %z = arith.constant 0 : index
      %o = affine.apply affine_map<(i) -> (i * 13)>(%i)
      %t = tile.load %rows[%o] : memref<26xi32> -> tensor<13xi32, #v>
      %w = tile.map(%t) : (tensor<13xi32, #v>) -> tensor<13xindex, #v> {
      ^bb0(%a: i32):
        %b = arith.index_cast %a : i32 to index
        tile.yield %b : index
      }
      %r = tile.view %w affine_map<(i, j) -> (i)> : tensor<13xindex, #v> -> tensor<13x50xindex, #l>
      %c = tile.iota %z dim 1 : tensor<13x50xindex, #l>
      %g = tile.gather %x at (%r, %c)
          : memref<20x50xf32>, tensor<13x50xindex, #l>, tensor<13x50xindex, #l> -> tensor<13x50xf32, #l>
      tile.store %g, %out[%o, %z] : tensor<13x50xf32, #l>, memref<26x50xf32>
    })",
              comparison);
}

TEST_P(Memory, GridsOfAnyRank) {
  expectEqual(R"(
    #l = #sm.layout<[32 lane]>
    sm.kernel @f grid [2, 3, 2, 5] inputs 1 warps 1 {
    ^bb0(%a: index, %b: index, %c: index, %d: index, %x: memref<2x3x2x5x32xi16>, %out: memref<60x32xi16>):
      %z = arith.constant 0 : index
      %p = affine.apply affine_map<(a, b, c, d) -> (((a * 3 + b) * 2 + c) * 5 + d)>(%a, %b, %c, %d)
      %t = tile.load %x[%a, %b, %c, %d, %z] : memref<2x3x2x5x32xi16> -> tensor<1x1x1x1x32xi16, #sm.layout<[] [] [] [] [32 lane]>>
      %v = tile.view %t affine_map<(i) -> (0, 0, 0, 0, i)>
          : tensor<1x1x1x1x32xi16, #sm.layout<[] [] [] [] [32 lane]>> -> tensor<32xi16, #l>
      %w = tile.view %v affine_map<(i, j) -> (j)> : tensor<32xi16, #l> -> tensor<1x32xi16, #sm.layout<[] [32 lane]>>
      tile.store %w, %out[%p, %z] : tensor<1x32xi16, #sm.layout<[] [32 lane]>>, memref<60x32xi16>
    })");
}

/// Visits every point once, in any order: with bands that divide the rows, bands that do not, and a
/// band larger than all rows.
TEST_P(Memory, PointsInTheOrderOfARaster) {
  for (int raster : {1, 2, 4, 5, 16})
    for (bool isBatched : {false, true}) {
      std::string memory = isBatched ? "memref<2240xi16>" : "memref<1120xi16>";
      expectEqual(
          concat("#l = #sm.layout<[32 lane]>\nsm.kernel @f grid ",
                 isBatched ? "[2, 5, 7]" : "[5, 7]", " inputs 1 warps 1 raster ", raster,
                 " {\n^bb0(", isBatched ? "%a: index, " : "", "%b: index, %c: index, %x: ", memory,
                 ", %out: ", memory, "):\n", isBatched ? "" : "  %a = arith.constant 0 : index\n",
                 "  %p = affine.apply affine_map<(a, b, c) -> (((a * 5 + b) * 7 + c) * "
                 "32)>(%a, %b, %c)\n  %t = tile.load %x[%p] : ",
                 memory, " -> tensor<32xi16, #l>\n  tile.store %t, %out[%p] : tensor<32xi16, #l>, ",
                 memory, "\n}\n"));
    }
}

TEST(MemoryCode, LargeGridsAreFolded) {
  auto infoOf = [](std::string_view grid, std::string_view arguments) {
    return compileText(concat("sm.kernel @f grid ", grid, " inputs 0 warps 1 {\n^bb0(", arguments,
                              "%out: memref<4xf32>):\n}"),
                       *chipNamed("sm_90a"))
        ->kernels[0];
  };
  EXPECT_EQ(infoOf("[7, 9]", "%i: index, %j: index, ").grid, (std::array<int64_t, 3>{9, 7, 1}));
  EXPECT_EQ(infoOf("[70000, 9]", "%i: index, %j: index, ").grid,
            (std::array<int64_t, 3>{630000, 1, 1}));
  EXPECT_EQ(infoOf("[3000000000]", "%i: index, ").grid, (std::array<int64_t, 3>{1 << 30, 3, 1}));
}

TEST_P(Memory, LoopsAndBranchesCarryTiles) {
  expectEqual(R"(
    #l = #sm.layout<[4 reg:4] [32 lane, 4 reg]>
    sm.kernel @f grid [5] inputs 2 warps 1 {
    ^bb0(%i: index, %x: memref<20x640xf32>, %n: memref<i32>, %out: memref<20x128xf32>, %count: memref<5xi32>):
      %z = arith.constant 0 : index
      %step = arith.constant 128 : index
      %end = arith.constant 640 : index
      %o = affine.apply affine_map<(i) -> (i * 4)>(%i)
      %zero = tile.map() : () -> tensor<4x128xf32, #l> {
        %c = arith.constant 0.0 : f32
        tile.yield %c : f32
      }
      %one = arith.constant 1 : i32
      %start = arith.constant 0 : i32
      %sum, %k = scf.for %j = %z to %end step %step iter_args(%acc = %zero, %seen = %start)
          -> (tensor<4x128xf32, #l>, i32) {
        %t = tile.load %x[%o, %j] : memref<20x640xf32> -> tensor<4x128xf32, #l>
        %next = tile.map(%acc, %t) : (tensor<4x128xf32, #l>, tensor<4x128xf32, #l>) -> tensor<4x128xf32, #l> {
        ^bb0(%a: f32, %b: f32):
          %c = arith.addf %a, %b : f32
          tile.yield %c : f32
        }
        %more = arith.addi %seen, %one : i32
        scf.yield %next, %more : tensor<4x128xf32, #l>, i32
      }
      %t0 = tile.load %n[] : memref<i32> -> tensor<i32, #sm.layout<copies [32 lane]>>
      %v = tensor.extract %t0[] : tensor<i32, #sm.layout<copies [32 lane]>>
      %big = arith.cmpi sgt, %v, %start : i32
      %r = scf.if %big -> (tensor<4x128xf32, #l>) {
        %m = tile.map(%sum) : (tensor<4x128xf32, #l>) -> tensor<4x128xf32, #l> {
        ^bb0(%a: f32):
          %c = arith.negf %a : f32
          tile.yield %c : f32
        }
        scf.yield %m : tensor<4x128xf32, #l>
      } else {
        scf.yield %sum : tensor<4x128xf32, #l>
      }
      tile.store %r, %out[%o, %z] : tensor<4x128xf32, #l>, memref<20x128xf32>
      %splat = tile.map() : () -> tensor<1xi32, #sm.layout<[] copies [32 lane]>> {
        %c = arith.constant 5 : i32
        tile.yield %c : i32
      }
      tile.store %splat, %count[%i] : tensor<1xi32, #sm.layout<[] copies [32 lane]>>, memref<5xi32>
    })");
}

TEST_P(Memory, WritesAWindowAndNothingElse) {
  for (const char *type : {"f32", "i8", "bf16", "complex<f64>", "i1"})
    for (int64_t width : {1, 5, 32})
      expectEqual(concat("#l = #sm.layout<[2 warp, 4 reg:4] [8 lane, 4 reg] copies [4 lane:8]>\n",
                         "sm.kernel @f grid [2] inputs 4 warps 2 updates [0, 3] {\n",
                         "^bb0(%i: index, %x: memref<11x", width, "x", type,
                         ">, %a: memref<i32>, %b: memref<i32>, %old: memref<20x40x", type,
                         ">, %out: memref<20x40x", type, R"(>):
      %z = arith.constant 0 : index
      %o = affine.apply affine_map<(i) -> (i * 8)>(%i)
      %ta = tile.load %a[] : memref<i32> -> tensor<i32, #sm.layout<copies [32 lane, 2 warp]>>
      %sa = tensor.extract %ta[] : tensor<i32, #sm.layout<copies [32 lane, 2 warp]>>
      %row = arith.index_cast %sa : i32 to index
      %tb = tile.load %b[] : memref<i32> -> tensor<i32, #sm.layout<copies [32 lane, 2 warp]>>
      %sb = tensor.extract %tb[] : tensor<i32, #sm.layout<copies [32 lane, 2 warp]>>
      %column = arith.index_cast %sb : i32 to index
      %t = tile.load %x[%o, %z] in_bounds [false, false] : memref<11x)",
                         width, "x", type, "> -> tensor<8x32x", type,
                         ", #l>\n      tile.store %t, %out[%o, %z] window [11, ", width,
                         "] at [%row, %column] in_bounds [false, false] : tensor<8x32x", type,
                         ", #l>, memref<20x40x", type, ">\n    }"),
                  Comparison{.below = 8});
}

/// Rows go to the places that an input says, in the order 5 i + 3 (mod 16), so each at most once;
/// places of 12 and more are outside.
TEST_P(Memory, ScattersRowsAndDropsThoseOutside) {
  for (const char *type : {"f32", "i8", "bf16", "complex<f64>", "i1"})
    expectEqual(concat("#l = #sm.layout<[2 warp, 4 reg:4] [8 lane, 4 reg] copies [4 lane:8]>\n",
                       "sm.kernel @f grid [2] inputs 2 warps 2 updates [0, 1] {\n",
                       "^bb0(%i: index, %x: memref<16x32x", type, ">, %old: memref<12x32x", type,
                       ">, %out: memref<12x32x", type, R"(>):
      %z = arith.constant 0 : index
      %o = affine.apply affine_map<(i) -> (i * 8)>(%i)
      %t = tile.load %x[%o, %z] : memref<16x32x)",
                       type, "> -> tensor<8x32x", type, R"(, #l>
      %n = tile.iota %o dim 0 : tensor<8x32xindex, #l>
      %r = tile.map(%n) : (tensor<8x32xindex, #l>) -> tensor<8x32xindex, #l> {
      ^bb0(%a: index):
        %c5 = arith.constant 5 : index
        %c3 = arith.constant 3 : index
        %c16 = arith.constant 16 : index
        %m = arith.muli %a, %c5 : index
        %s = arith.addi %m, %c3 : index
        %q = arith.remui %s, %c16 : index
        tile.yield %q : index
      }
      %c = tile.iota %z dim 1 : tensor<8x32xindex, #l>
      tile.scatter %t, %out at (%r, %c) : tensor<8x32x)",
                       type, ", #l>, memref<12x32x", type,
                       ">, tensor<8x32xindex, #l>, tensor<8x32xindex, #l>\n    }"));
}

} // namespace
