// Matrix products without roles: from a tile.kernel through tile-pipeline to cp.async, ldmatrix and
// mma.sync, on the virtual GPU with all checks on, against the evaluator.
#include "GpuKernels.h"

#include "tilewright/support/Concat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::nvptx {
namespace {

using ::testing::HasSubstr;

/// A product with a tile. `lhs` is stored as [m, k] and `rhs` as [n, k], unless transposed.
struct Shape {
  int64_t m, n, k;
  int64_t tileM = 64, tileN = 64, tileK = 64;
  std::string element = "f16";
  bool lhsTransposed = false, rhsTransposed = false;
};

std::string program(const Shape &s) {
  const bool isInteger = s.element == "i8", isTf32 = s.element == "f32";
  const std::string sum = isInteger ? "i32" : "f32", zero = isInteger ? "0" : "0.0";
  auto ceil = [](int64_t a, int64_t c) { return (a + c - 1) / c; };
  // One operand: its memory, its tile as it is loaded, and the tile that the product takes.
  struct Side {
    std::string memory, loaded, tile, offsets;
    bool isTurned;
  };
  auto side = [&](int64_t own, int64_t tile, bool isLhs, bool isTransposed) {
    auto sizes = [&](int64_t outer, int64_t k, bool kLast) {
      return kLast ? concat(outer, "x", k, "x", s.element) : concat(k, "x", outer, "x", s.element);
    };
    const std::string at = isLhs ? "%m" : "%n";
    return Side{sizes(own, s.k, !isTransposed), sizes(tile, s.tileK, !isTransposed),
                sizes(tile, s.tileK, isLhs), isTransposed ? "%k, " + at : at + ", %k",
                isTransposed == isLhs};
  };
  const Side x = side(s.m, s.tileM, true, s.lhsTransposed),
             y = side(s.n, s.tileN, false, s.rhsTransposed);
  const std::string tile = concat("tensor<", s.tileM, "x", s.tileN, "x", sum, ">");
  auto load = [&](const char *name, const char *from, const Side &of) {
    std::string text = concat("    %", name, "0 = tile.load %", from, "[", of.offsets,
                              "] padding %pad : ", s.element, " in_bounds [false, false] : memref<",
                              of.memory, "> -> tensor<", of.loaded, ">\n");
    return text + concat("    %", name, "1 = tile.view %", name, "0 affine_map<(i, j) -> ",
                         of.isTurned ? "(j, i)" : "(i, j)", "> : tensor<", of.loaded,
                         "> -> tensor<", of.tile, ">\n");
  };
  return concat(
      "tile.kernel @gemm grid [", ceil(s.m, s.tileM), ", ", ceil(s.n, s.tileN), "] inputs 2 {\n",
      "^bb0(%i: index, %j: index, %a: memref<", x.memory, ">, %b: memref<", y.memory,
      ">, %d: memref<", s.m, "x", s.n, "x", sum, ">):\n  %c0 = arith.constant 0 : index\n",
      "  %c1 = arith.constant 1 : index\n  %steps = arith.constant ", ceil(s.k, s.tileK),
      " : index\n  %pad = arith.constant ", zero, " : ", s.element,
      "\n  %m = affine.apply affine_map<(d0) -> (d0 * ", s.tileM,
      ")>(%i)\n  %n = affine.apply affine_map<(d0) -> (d0 * ", s.tileN, ")>(%j)\n",
      "  %zero = tile.map() : () -> ", tile, " {\n    %cst = arith.constant ", zero, " : ", sum,
      "\n    tile.yield %cst : ", sum,
      "\n  }\n  %sum = scf.for %s = %c0 to %steps step %c1 iter_args(%acc = %zero) -> ", tile,
      " {\n    %k = affine.apply affine_map<(d0) -> (d0 * ", s.tileK, ")>(%s)\n", load("x", "a", x),
      load("y", "b", y), "    %p = tile.dot %x1, %y1, %acc ", isTf32 ? "tf32 " : "", ": tensor<",
      x.tile, ">, tensor<", y.tile, "> -> ", tile, "\n    scf.yield %p : ", tile,
      "\n  }\n  tile.store %sum, %d[%m, %n] in_bounds [false, false] : ", tile, ", memref<", s.m,
      "x", s.n, "x", sum, ">\n}\n");
}

/// The tensor core adds products in another order than the evaluator and truncates. Both round
/// factors of f32 to tf32. Where copies complete late, inputs are multiples of 1/8, whose sums are
/// exact.
std::string run(const Shape &shape, int completion = 0, uint64_t seed = 1) {
  Comparison comparison;
  comparison.seed = seed;
  comparison.completion = completion;
  comparison.range = 1;
  comparison.step = completion ? 0.125 : 0;
  comparison.tolerance = completion ? 0 : 1e-4;
  return compareWithEvaluator(program(shape), "sm_80", comparison);
}

TEST(PipelinedProducts, OneIterationAndSlotsThatComeRound) {
  EXPECT_EQ(run({64, 64, 64}), "");
  for (int completion : {0, 1, 2})
    EXPECT_EQ(run({64, 64, 640}, completion, 3), "") << completion;
}

TEST(PipelinedProducts, AllOrdersOfOperands) {
  for (std::string element : {"f16", "bf16", "f32"})
    for (bool lhs : {false, true})
      for (bool rhs : {false, true}) {
        Shape shape{40, 72, 136, 32, 64, 64, element, lhs, rhs};
        if (element == "f32")
          shape.tileK = 32;
        EXPECT_EQ(run(shape, 2, 7), "") << element << lhs << rhs;
      }
}

/// 8-bit operands that are not contiguous along K are transposed in pairs, in lines of every
/// length.
TEST(PipelinedProducts, OfIntegersInAllOrders) {
  for (bool lhs : {false, true})
    for (bool rhs : {false, true})
      EXPECT_EQ(run({40, 72, 272, 32, 64, 128, "i8", lhs, rhs}, 2, 7), "") << lhs << rhs;
  for (int64_t tile : {16, 64})
    EXPECT_EQ(run({tile, tile, 128, tile, tile, 128, "i8", true, true}), "") << tile;
  EXPECT_EQ(run({128, 256, 256, 128, 256, 128, "i8", true, true}), "");
  EXPECT_EQ(run({128, 16, 40, 128, 16, 40, "i8", true, true}), "") << "zeros behind the end";
}

/// Two, four and eight warps along a side, and tile sizes that are not powers of two.
TEST(PipelinedProducts, GridsOfWarps) {
  EXPECT_EQ(run({128, 256, 128, 128, 256}), "");
  EXPECT_EQ(run({256, 128, 192, 256, 128}, 1), "");
  EXPECT_EQ(run({16, 128, 192, 16, 128}, 1), "");
  EXPECT_EQ(run({48, 72, 192, 48, 72}, 2, 5), "");
}

TEST(PipelinedProducts, RowsOfFourAndEightBytes) {
  EXPECT_EQ(run({64, 64, 66}), "") << "pieces of 4 bytes";
  EXPECT_EQ(run({64, 70, 100, 64, 64, 64, "f16", false, true}, 1), "") << "8 and 4";
  EXPECT_THAT(run({64, 64, 65}), HasSubstr("leaves the kernel")) << "rows of 130 bytes";
}

TEST(PipelinedProducts, DepthsBelowALine) {
  EXPECT_EQ(run({32, 32, 16, 32, 32, 16}), "");
  EXPECT_EQ(run({32, 32, 40, 32, 32, 40}), "") << "zeros behind the end of memory";
  EXPECT_EQ(run({32, 16, 8, 32, 16, 8, "f32", true, false}), "");
}

/// What is rejected in a channel that the same threads fill and drain.
TEST(PipelinedProducts, RefusalsOfChannelsWithoutRoles) {
  const std::string start =
      "sm.kernel @k grid [1] inputs 1 warps 1 {\n^bb0(%i: index, %x: memref<8x8xf16>, %y: "
      "memref<8x8xf16>):\n  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
      "  %c = sm.channel depth 1 : <<8x8xf16, shared, <[8 offset:8] [8 offset]>>>\n";
  const std::string type = "!sm.channel<!sm.buffer<8x8xf16, shared, <[8 offset:8] [8 offset]>>>";
  auto messageOf = [&](const std::string &body) {
    Result<GpuCode> code = compileText(start + body + "}\n", *chipNamed("sm_80"));
    return code.isOk() ? std::string("compiled") : std::move(code).takeStatus().toString();
  };
  auto op = [&](const std::string &name) {
    const bool gives = name == "take" || name == "acquire";
    return concat("  ", gives ? "%0 = " : "", "sm.", name,
                  " %c : <<8x8xf16, shared, <[8 offset:8] [8 offset]>>>\n");
  };
  EXPECT_THAT(messageOf(op("take")), HasSubstr("no slot has been published"));
  EXPECT_THAT(messageOf(op("free")), HasSubstr("frees a slot that was not taken"));
  EXPECT_THAT(messageOf(op("acquire") + op("publish") +
                        "  %1 = sm.acquire %c : <<8x8xf16, shared, <[8 offset:8] [8 offset]>>>\n"),
              HasSubstr("its own threads hold all 1 slots"));
  EXPECT_THAT(
      messageOf("  scf.for %s = %c0 to %c1 step %c1 {\n" + op("acquire") + op("publish") + "  }\n"),
      HasSubstr("got 1 and 0, expected 0 and 0"));
}

} // namespace
} // namespace tilewright::nvptx
