// Views and conversions between layouts.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace tilewright;
using namespace tilewright::nvptx;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string converting(std::string_view type, std::vector<int64_t> shape, int64_t warps,
                       std::string_view from, std::string_view to) {
  std::string size, zeros;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    size += concat(shape[dim], "x");
    zeros += dim ? ", %z" : "%z";
  }
  size += type;
  return concat("#a = #sm.layout<", from, ">\n#b = #sm.layout<", to,
                ">\nsm.kernel @f grid [1] inputs 1 warps ", warps,
                " {\n^bb0(%i: index, %x: memref<", size, ">, %out: memref<", size,
                ">):\n  %z = arith.constant 0 : index\n"
                "  %t = tile.load %x[",
                zeros, "] : memref<", size, "> -> tensor<", size,
                ", #a>\n"
                "  %c = sm.convert %t : tensor<",
                size, ", #a> -> tensor<", size,
                ", #b>\n"
                "  tile.store %c, %out[",
                zeros, "] : tensor<", size, ", #b>, memref<", size, ">\n}\n");
}

std::string ptxOf(const std::string &text) { return compileText(text, *chipNamed("sm_90a"))->ptx; }

TEST(Convert, NamesOfRegistersCostNothing) {
  std::string text =
      converting("f32", {4, 128}, 1, "[4 reg:4] [32 lane, 4 reg]", "[4 reg] [32 lane, 4 reg:4]");
  EXPECT_EQ(compareWithEvaluator(text, "sm_90a"), "");
  EXPECT_THAT(ptxOf(text), Not(HasSubstr("shfl")));
  EXPECT_THAT(ptxOf(text), Not(HasSubstr("bar")));
}

TEST(Convert, LanesOfAWarpShuffle) {
  // Converts the accumulator of a matrix instruction to rows of lanes.
  std::string text = converting("f32", {16, 8}, 1, "[2 reg:2, 8 lane:4] [4 lane, 2 reg]",
                                "[16 lane:2] [2 lane, 4 reg]");
  EXPECT_EQ(compareWithEvaluator(text, "sm_90a"), "");
  EXPECT_THAT(ptxOf(text), HasSubstr("shfl.sync.idx"));
  EXPECT_THAT(ptxOf(text), Not(HasSubstr("bar.sync")));
}

TEST(Convert, TransposesThroughSharedMemoryWithoutConflicts) {
  std::string text = converting("f32", {64, 64}, 4, "[4 warp, 16 reg:2] [32 lane, 2 reg]",
                                "[32 lane, 2 reg] [4 warp, 16 reg:2]");
  EXPECT_EQ(compareWithEvaluator(text, "sm_90a"), "");
  EXPECT_EQ(compareWithEvaluator(text, "sm_80"), "");
  EXPECT_THAT(ptxOf(text), HasSubstr("bar"));
}

/// Random pairs of blocked layouts of random shapes, which cover every method of conversion.
TEST(Convert, AnyBlockedLayoutToAnyOther) {
  std::mt19937 random(17);
  auto pick = [&](std::vector<int64_t> choices) { return choices[random() % choices.size()]; };
  for (int i = 0; i < 60; ++i) {
    std::vector<int64_t> shape;
    for (size_t rank = 1 + random() % 3; rank > 0; --rank)
      shape.push_back(pick({1, 2, 3, 8, 12, 16, 31}));
    const int64_t warps = pick({1, 2, 4});
    auto layout = [&] {
      std::vector<int64_t> order(shape.size());
      for (size_t dim = 0; dim < shape.size(); ++dim)
        order[dim] = int64_t(dim);
      std::shuffle(order.begin(), order.end(), random);
      return sm::Layout::blocked(shape, order, pick({1, 2, 4}), 32, warps).str();
    };
    const char *types[] = {"f32", "f16", "i8", "f64", "i1", "complex<f32>", "bf16", "f8E4M3FN"};
    std::string text =
        converting(types[random() % std::size(types)], shape, warps, layout(), layout());
    EXPECT_EQ(compareWithEvaluator(text, i % 2 ? "sm_80" : "sm_90a", {.seed = uint64_t(i + 1)}), "")
        << text;
  }
}

TEST(Convert, RearrangesByAMap) {
  EXPECT_EQ(compareWithEvaluator(R"(
    #l = #sm.layout<[4 warp, 4 reg:4] [32 lane, 4 reg]>
    #s = #sm.layout<[4 warp, 2 reg:2] [32 lane, 2 reg]>
    sm.kernel @f grid [1] inputs 1 warps 4 {
    ^bb0(%i: index, %x: memref<15x100xf16>, %a: memref<15x100xf16>, %b: memref<7x49xf16>):
      %z = arith.constant 0 : index
      %v = tile.load %x[%z, %z] : memref<15x100xf16> -> tensor<15x100xf16, #l>
      %p = sm.convert %v map affine_map<(i, j) -> (14 - i, 99 - j)>
          : tensor<15x100xf16, #l> -> tensor<15x100xf16, #l>
      tile.store %p, %a[%z, %z] : tensor<15x100xf16, #l>, memref<15x100xf16>
      %q = sm.convert %v map affine_map<(i, j) -> (i * 2 + 1, j * 2 + 1)>
          : tensor<15x100xf16, #l> -> tensor<7x49xf16, #s>
      tile.store %q, %b[%z, %z] : tensor<7x49xf16, #s>, memref<7x49xf16>
    })",
                                 "sm_90a"),
            "");
}

TEST(View, RenamesRegisters) {
  EXPECT_EQ(compareWithEvaluator(R"(
    #l = #sm.layout<[8 reg:2] [32 lane, 2 reg]>
    #t = #sm.layout<[32 lane, 2 reg] [8 reg:2]>
    #s = #sm.layout<[4 reg:4, 2 reg:2] [32 lane, 2 reg]>
    #c = #sm.layout<[8 reg:2, 32 lane, 2 reg]>
    sm.kernel @f grid [1] inputs 1 warps 1 {
    ^bb0(%i: index, %x: memref<8x64xf32>, %a: memref<64x8xf32>, %b: memref<512xf32>):
      %z = arith.constant 0 : index
      %v = tile.load %x[%z, %z] : memref<8x64xf32> -> tensor<8x64xf32, #l>
      %p = tile.view %v affine_map<(i, j) -> (j, i)> : tensor<8x64xf32, #l> -> tensor<64x8xf32, #t>
      tile.store %p, %a[%z, %z] : tensor<64x8xf32, #t>, memref<64x8xf32>
      %q = tile.view %v affine_map<(i) -> (i floordiv 64, i mod 64)> : tensor<8x64xf32, #l> -> tensor<512xf32, #c>
      tile.store %q, %b[%z] : tensor<512xf32, #c>, memref<512xf32>
    })",
                                 "sm_90a"),
            "");
}

TEST(Shared, TooMuchNamesItsUsers) {
  std::string text = converting("f32", {256, 256}, 8, "[8 warp, 32 reg:8] [32 lane, 8 reg]",
                                "[32 lane, 8 reg] [8 warp, 32 reg:8]");
  Status status = compileText(text, *chipNamed("sm_90a")).takeStatus();
  EXPECT_EQ(status.error(), Error::gpuShared);
  EXPECT_EQ(status.code(), Code::resourceExhausted);
  EXPECT_THAT(status.toString(), HasSubstr("'sm.convert' at"));
  EXPECT_THAT(status.toString(), HasSubstr("has at most 232448"));
}

} // namespace
