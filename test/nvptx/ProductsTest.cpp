// Matrix products with roles: from a tile.kernel through tile-pipeline to PTX, on the virtual GPU
// with all checks on, against the evaluator.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/support/Concat.h"

#include "gtest/gtest.h"

#include <regex>

namespace tilewright::nvptx {
namespace {

/// A product with a tile, as tile-fusions writes it. `b` is stored as [n, k] if `rhsTransposed`,
/// and `a` as [k, m] if `lhsTransposed`.
struct Shape {
  int64_t m, n, k;
  int64_t tileM, tileN, tileK = 64;
  std::string element = "f16", result = "f32";
  bool lhsTransposed = false, rhsTransposed = false;
  std::string epilogue = "none";
  /// The type of an operand in memory, if it differs and is converted in the loop.
  std::string lhsRaw = "", rhsRaw = "";
};

/// A map that converts a tile of `shape`, as text.
std::string conversion(const std::string &to, const std::string &from, const std::string &shape,
                       const std::string &raw, const std::string &element) {
  std::string text =
      concat("    ", to, " = tile.map(", from, ") : (tensor<", shape, "x", raw, ">) -> tensor<",
             shape, "x", element, "> {\n    ^bb0(%u: ", raw, "):\n");
  std::string wide = "%u";
  if (raw != "f32") {
    text +=
        concat("      %v = arith.", raw[0] == 'i' ? "sitofp" : "extf", " %u : ", raw, " to f32\n");
    wide = "%v";
  }
  return text + concat("      %w = arith.truncf ", wide, " : f32 to ", element,
                       "\n      tile.yield %w : ", element, "\n    }\n");
}

std::string program(const Shape &s) {
  auto ceil = [](int64_t a, int64_t c) { return (a + c - 1) / c; };
  std::string sumType = s.element == "i8" ? "i32" : "f32";
  std::string zero = s.element == "i8" ? "0" : "0.0";
  const std::string lhsRaw = s.lhsRaw.empty() ? s.element : s.lhsRaw,
                    rhsRaw = s.rhsRaw.empty() ? s.element : s.rhsRaw;
  auto zeroOf = [](const std::string &type) { return type[0] == 'i' ? "0" : "0.0"; };
  std::string lhsMemory = s.lhsTransposed ? concat(s.k, "x", s.m) : concat(s.m, "x", s.k);
  std::string rhsMemory = s.rhsTransposed ? concat(s.n, "x", s.k) : concat(s.k, "x", s.n);
  std::string lhsTile =
      s.lhsTransposed ? concat(s.tileK, "x", s.tileM) : concat(s.tileM, "x", s.tileK);
  std::string rhsTile =
      s.rhsTransposed ? concat(s.tileN, "x", s.tileK) : concat(s.tileK, "x", s.tileN);
  std::string tile = concat(s.tileM, "x", s.tileN);
  std::string text = concat(
      "tile.kernel @gemm grid [", ceil(s.m, s.tileM), ", ", ceil(s.n, s.tileN), "] inputs 3 {\n",
      "^bb0(%i: index, %j: index, %a: memref<", lhsMemory, "x", lhsRaw, ">, %b: memref<", rhsMemory,
      "x", rhsRaw, ">, %bias: memref<", s.n, "x", sumType, ">, %d: memref<", s.m, "x", s.n, "x",
      s.result, ">):\n",
      "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %steps = "
      "arith.constant ",
      ceil(s.k, s.tileK), " : index\n", "  %padx = arith.constant ", zeroOf(lhsRaw), " : ", lhsRaw,
      "\n  %pady = arith.constant ", zeroOf(rhsRaw), " : ", rhsRaw, "\n",
      "  %m = affine.apply affine_map<(d0) -> (d0 * ", s.tileM,
      ")>(%i)\n  %n = affine.apply affine_map<(d0) -> (d0 * ", s.tileN, ")>(%j)\n",
      "  %zero = tile.map() : () -> tensor<", tile, "x", sumType, "> {\n    %cst = arith.constant ",
      zero, " : ", sumType, "\n    tile.yield %cst : ", sumType, "\n  }\n",
      "  %sum = scf.for %s = %c0 to %steps step %c1 iter_args(%acc = %zero) -> tensor<", tile, "x",
      sumType, "> {\n", "    %k = affine.apply affine_map<(d0) -> (d0 * ", s.tileK, ")>(%s)\n",
      "    %x0 = tile.load %a[", s.lhsTransposed ? "%k, %m" : "%m, %k",
      "] padding %padx : ", lhsRaw, " in_bounds [false, false] : memref<", lhsMemory, "x", lhsRaw,
      "> -> tensor<", lhsTile, "x", lhsRaw, ">\n", "    %y0 = tile.load %b[",
      s.rhsTransposed ? "%n, %k" : "%k, %n", "] padding %pady : ", rhsRaw,
      " in_bounds [false, false] : memref<", rhsMemory, "x", rhsRaw, "> -> tensor<", rhsTile, "x",
      rhsRaw, ">\n");
  std::string x = "%x0", y = "%y0";
  if (!s.lhsRaw.empty()) {
    text += conversion("%xc", x, lhsTile, lhsRaw, s.element);
    x = "%xc";
  }
  if (!s.rhsRaw.empty()) {
    text += conversion("%yc", y, rhsTile, rhsRaw, s.element);
    y = "%yc";
  }
  if (s.lhsTransposed) {
    text += concat("    %x1 = tile.view ", x, " affine_map<(i, j) -> (j, i)> : tensor<", lhsTile,
                   "x", s.element, "> -> tensor<", s.tileM, "x", s.tileK, "x", s.element, ">\n");
    x = "%x1";
  }
  if (s.rhsTransposed) {
    text += concat("    %y1 = tile.view ", y, " affine_map<(i, j) -> (j, i)> : tensor<", rhsTile,
                   "x", s.element, "> -> tensor<", s.tileK, "x", s.tileN, "x", s.element, ">\n");
    y = "%y1";
  }
  text += concat("    %p = tile.dot ", x, ", ", y, ", %acc ", s.element == "f32" ? "tf32 " : "",
                 ": tensor<", s.tileM, "x", s.tileK, "x", s.element, ">, tensor<", s.tileK, "x",
                 s.tileN, "x", s.element, "> -> tensor<", tile, "x", sumType,
                 ">\n    scf.yield %p : tensor<", tile, "x", sumType, ">\n  }\n");
  std::string value = "%sum";
  if (s.epilogue == "bias") {
    text += concat(
        "  %pb = arith.constant ", zero, " : ", sumType,
        "\n  %z = tile.load %bias[%n] padding %pb : ", sumType, " in_bounds [false] : memref<", s.n,
        "x", sumType, "> -> tensor<", s.tileN, "x", sumType,
        ">\n  %w = tile.view %z affine_map<(r, c) -> (c)> : tensor<", s.tileN, "x", sumType,
        "> -> tensor<", tile, "x", sumType, ">\n  %e = tile.map(%sum, %w) : (tensor<", tile, "x",
        sumType, ">, tensor<", tile, "x", sumType, ">) -> tensor<", tile, "x", sumType,
        "> {\n  ^bb0(%u: f32, %v: f32):\n    %q = arith.addf %u, %v : f32\n    %h = arith.constant "
        "0.0 : f32\n    %o = arith.maximumf %q, %h : f32\n    tile.yield %o : f32\n  }\n");
    value = "%e";
  }
  if (s.result != sumType) {
    text += concat("  %r = tile.map(", value, ") : (tensor<", tile, "x", sumType, ">) -> tensor<",
                   tile, "x", s.result, "> {\n  ^bb0(%u: ", sumType,
                   "):\n    %t = arith.truncf %u : ", sumType, " to ", s.result,
                   "\n    tile.yield %t : ", s.result, "\n  }\n");
    value = "%r";
  }
  text += concat("  tile.store ", value, ", %d[%m, %n] in_bounds [false, false] : tensor<", tile,
                 "x", s.result, ">, memref<", s.m, "x", s.n, "x", s.result, ">\n}\n");
  return text;
}

/// The tensor core adds products in another order than the evaluator and truncates. Where copies
/// complete late, inputs are multiples of 1/8, whose sums are exact. A slot that is read too early
/// or too late then gives a different result, however small.
std::string run(const Shape &shape, int completion = 0, uint64_t seed = 1,
                Comparison comparison = {}) {
  comparison.seed = seed;
  comparison.completion = completion;
  comparison.range = 1;
  comparison.step = completion ? 0.125 : 0;
  comparison.tolerance = completion ? 0 : shape.result == "f32" ? 1e-4 : 2e-3;
  return compareWithEvaluator(program(shape), "sm_90a", comparison);
}

TEST(Products, OneTile) { EXPECT_EQ(run({64, 64, 64, 64, 64}), ""); }

TEST(Products, SlotsComeRound) {
  EXPECT_EQ(run({64, 64, 448, 64, 64}), "");
  EXPECT_EQ(run({64, 64, 448, 64, 64}, 1), "");
  EXPECT_EQ(run({64, 64, 448, 64, 64}, 2, 3), "");
}

TEST(Products, AllOrdersOfOperands) {
  for (bool lhs : {false, true})
    for (bool rhs : {false, true}) {
      Shape shape{64, 128, 128, 64, 64};
      shape.lhsTransposed = lhs;
      shape.rhsTransposed = rhs;
      EXPECT_EQ(run(shape), "") << lhs << rhs;
    }
}

TEST(Products, RaggedSizes) {
  EXPECT_EQ(run({72, 136, 72, 64, 128}), "");
  EXPECT_EQ(run({8, 8, 8, 16, 16}), "") << "a tile of more than the matrix";
  EXPECT_EQ(run({40, 72, 328, 64, 64}, 2), "");
}

TEST(Products, OfBfloat) { EXPECT_EQ(run({64, 64, 128, 64, 64, 64, "bf16", "bf16"}), ""); }

/// Instructions that multiply f32 as tf32, with factors that the copy engine rounds: exact factors
/// in every order of completion, ragged and in clusters.
TEST(Products, OfTf32) {
  Comparison engines;
  engines.change = [](std::string text) {
    EXPECT_NE(text.find("k8.f32.tf32.tf32"), std::string::npos);
    EXPECT_EQ(text.find("mma.sync"), std::string::npos);
    return text;
  };
  for (int completion : {1, 2}) {
    EXPECT_EQ(run({64, 64, 224, 64, 64, 32, "f32", "f32", false, true}, completion, 3, engines),
              "");
    EXPECT_EQ(run({72, 136, 100, 64, 128, 32, "f32", "f32", false, true}, completion, 5, engines),
              "");
    EXPECT_EQ(run({256, 128, 160, 128, 128, 32, "f32", "f32", false, true, "bias"}, completion, 7,
                  engines),
              "");
    EXPECT_EQ(run({128, 128, 160, 64, 64, 32, "f32", "f16", false, true}, completion, 9, engines),
              "");
  }
  EXPECT_EQ(run({8, 8, 8, 16, 16, 8, "f32", "f32", false, true}, 1, 1, engines), "")
      << "a depth below a line";
}

/// Factors that tf32 does not represent: the copy engine rounds them to nearest, as the evaluator
/// does, and the instruction by itself would truncate. Multiples of 0.0123 are not ties, whose
/// direction is open. Without the copies' rounding the sums of 224 products differ.
TEST(Products, OfTf32AreRounded) {
  Shape shape{64, 64, 224, 64, 64, 32, "f32", "f32", false, true};
  Comparison rounded;
  rounded.range = 1;
  rounded.step = 0.0123;
  rounded.tolerance = 1e-4;
  EXPECT_EQ(compareWithEvaluator(program(shape), "sm_90a", rounded), "");
}

/// Operands that are not contiguous along K are rounded in registers, for mma.sync.
TEST(Products, OfTf32InOtherOrders) {
  Comparison engines;
  engines.change = [](std::string text) {
    EXPECT_NE(text.find("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), std::string::npos);
    EXPECT_EQ(text.find("wgmma"), std::string::npos);
    return text;
  };
  for (bool lhs : {false, true})
    for (bool rhs : {false, true})
      if (lhs || !rhs)
        EXPECT_EQ(run({64, 128, 128, 64, 64, 32, "f32", "f32", lhs, rhs}, 2, 3, engines), "")
            << lhs << rhs;
  EXPECT_EQ(run({64, 64, 66, 64, 64, 32, "f32", "f32", false, true}, 2, 3, engines), "")
      << "rows of 264 bytes";
}

TEST(Products, WithBiasAndHalfResult) {
  EXPECT_EQ(run({72, 72, 72, 64, 64, 64, "f16", "f16", false, false, "bias"}), "");
}

/// Two CTAs share the columns: the rhs is multicast, half by each.
TEST(Products, InClusters) {
  EXPECT_EQ(run({128, 128, 448, 128, 128}), "");
  EXPECT_EQ(run({256, 256, 256, 256, 256}, 2, 5), "");
}

TEST(Products, InClustersWithBias) {
  EXPECT_EQ(run({200, 128, 136, 128, 128, 64, "f16", "f16", false, true, "bias"}, 2), "");
}

/// More tiles than multiprocessors: each CTA computes several, and slots and phases continue from
/// one tile to the next.
TEST(PersistentProducts, OneTileAfterTheOther) {
  Comparison two;
  two.multiprocessors = 2;
  // A tile has fewer steps than there are slots, and more.
  for (int64_t steps : {1, 3, 7})
    EXPECT_EQ(run({128, 160, 64 * steps, 64, 64}, int(steps % 3), 3, two), "") << steps;
}

TEST(PersistentProducts, RaggedWithBiasInARaster) {
  Comparison three;
  three.multiprocessors = 3;
  three.raster = 2;
  EXPECT_EQ(run({136, 136, 136, 64, 64, 64, "f16", "f16", false, true, "bias"}, 2, 7, three), "");
}

TEST(PersistentProducts, InClusters) {
  Comparison four;
  four.multiprocessors = 4;
  for (int completion : {1, 2})
    EXPECT_EQ(run({384, 128, 192, 128, 128}, completion, 5, four), "");
}

/// A role that restarts each tile with the phase of the first one waits for a phase that is past,
/// or does not wait at all.
TEST(PersistentProducts, APhaseThatDoesNotGoOnIsNoticed) {
  Comparison two;
  two.multiprocessors = 2;
  Shape shape{128, 160, 64, 64, 64};
  two.change = [](std::string text) { return text; };
  ASSERT_EQ(run(shape, 0, 3, two), "");
  auto change = [](std::string text, size_t role) {
    // Repeats the initial stores to phase and slot variables, which are in the entry block, at the
    // start of each tile: after the phi that takes the number of the role's first point, a
    // quotient.
    const std::regex quotient("(%[0-9]+) = udiv i32 %[0-9]+, 1(, !dbg ![0-9]+)?\n");
    auto found = std::sregex_iterator(text.begin(), text.end(), quotient);
    std::advance(found, role);
    const std::string first = (*found)[1];
    const std::regex phi(" = phi i32 [^\n]*" + first + ",[^\n]*\n");
    std::smatch point;
    EXPECT_TRUE(std::regex_search(text, point, phi)) << text;
    const std::regex initial("  store i32 [01], ptr %[0-9]+, align 4(, !dbg ![0-9]+)?\n");
    const std::string entry = text.substr(0, text.find("  br "));
    std::string again;
    for (auto store = std::sregex_iterator(entry.begin(), entry.end(), initial);
         store != std::sregex_iterator(); ++store)
      again += store->str();
    const size_t body = size_t(point.position()) + size_t(point.length());
    EXPECT_FALSE(again.empty());
    return text.insert(body, again);
  };
  for (size_t role : {0, 1}) {
    two.change = [&](std::string text) { return change(std::move(text), role); };
    EXPECT_NE(run(shape, 0, 3, two), "") << role;
  }
}

/// Tiles of 16-bit results go through shared memory: ragged, in clusters, with an epilogue.
TEST(StagedProducts, LeaveByTheCopyEngine) {
  Comparison few;
  few.change = [](std::string text) {
    EXPECT_NE(text.find("stmatrix"), std::string::npos);
    EXPECT_NE(text.find("global.shared::cta.bulk_group"), std::string::npos);
    return text;
  };
  for (int completion : {1, 2}) {
    few.multiprocessors = 2;
    EXPECT_EQ(run({136, 136, 72, 64, 64, 64, "f16", "f16"}, completion, 3, few), "");
    few.multiprocessors = 4;
    EXPECT_EQ(run({200, 264, 64, 128, 128, 64, "bf16", "bf16", false, true}, completion, 5, few),
              "");
  }
  few.multiprocessors = 1;
  EXPECT_EQ(run({256, 256, 64, 128, 256, 64, "f16", "f16", false, false, "bias"}, 0, 9, few), "");
}

/// The instructions that order accesses to the buffer: if one is removed, the virtual GPU reports
/// it.
TEST(StagedProducts, EveryWaitIsNeeded) {
  Comparison two;
  two.multiprocessors = 2;
  Shape shape{128, 192, 64, 64, 64, 64, "f16", "f16"};
  for (const char *instruction : {"call void @llvm.nvvm.fence.proxy.async.shared_cta()",
                                  "@first cp.async.bulk.wait_group.read 0;"}) {
    two.change = [&](std::string text) {
      size_t at = text.find(instruction), found = 0;
      for (; at != std::string::npos; at = text.find(instruction, at), ++found)
        text.erase(at, std::string_view(instruction).size());
      EXPECT_GT(found, 0u);
      return text;
    };
    EXPECT_NE(run(shape, 1, 3, two), "") << instruction;
  }
}

/// A converted operand goes through registers: 8-bit elements along K in pairs, 8-bit elements
/// along M as pairs of rows by ldmatrix, 16-bit elements by ldmatrix, 32-bit elements directly.
TEST(Products, WithASideThatIsConverted) {
  for (const char *raw : {"f8E4M3FN", "f8E5M2", "i8", "i4", "f4E2M1FN", "bf16", "f32"})
    for (bool isLhs : {false, true})
      for (bool isTransposed : {false, true}) {
        Shape shape{64, 64, 192, 64, 64};
        (isLhs ? shape.lhsTransposed : shape.rhsTransposed) = isTransposed;
        (isLhs ? shape.lhsRaw : shape.rhsRaw) = raw;
        EXPECT_EQ(run(shape), "") << raw << isLhs << isTransposed;
      }
}

TEST(Products, QuantisedInAPrologue) {
  for (const char *raw : {"f16", "f32"}) {
    Shape shape{64, 64, 256, 64, 64, 128, "f8E4M3FN", "f32", false, true};
    shape.lhsRaw = raw;
    EXPECT_EQ(run(shape), "") << raw;
  }
}

TEST(Products, ConvertedInEveryOrderOfCompletion) {
  for (int completion : {0, 1, 2}) {
    Shape shape{80, 144, 192, 128, 128};
    shape.rhsRaw = "f8E4M3FN";
    EXPECT_EQ(run(shape, completion, 7), "") << "in clusters";
    shape.epilogue = "bias";
    shape.rhsTransposed = true;
    shape.result = "f16";
    EXPECT_EQ(run(shape, completion, 7), "");
  }
}

} // namespace
} // namespace tilewright::nvptx
