// Tests of the solver: results for random fusions, certificates that the checker must reject, and
// how solve time scales.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/testing/Slowness.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>

using namespace tilewright;
using namespace tilewright::solve;
using testing::HasSubstr;

namespace {

class Solve : public testing::Test {
protected:
  Solve() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                        mlir::complex::ComplexDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                        exec::ExecDialect, sdy::SdyDialect, sm::SmDialect,
                        stablehlo::StablehloDialect, tile::TileDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::MLIRContext context;
};

/// A GPU target; depending on the seed, small tiles with many iterations, or large tiles.
std::string target(uint64_t seed) {
  return concat("exec.target = #exec.target<units = ", 1 + seed % 7,
                ", tile_elements = ", 64 << seed % 7,
                ", gpu = <shared_bytes = 166912>, "
                "matrix = <types = [f16, bf16, tf32, i8]>>");
}

TEST_F(Solve, RandomFusionsGetLayouts) {
  std::map<std::string, int> refusals;
  int kernels = 0, converts = 0, refused = 0;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      ++refusals[diagnostic.str().substr(0, 90)];
  });
  // For more seeds set TILEWRIGHT_TEST_COUNT=5000, for others TILEWRIGHT_TEST_SEED=1000.
  const char *first = std::getenv("TILEWRIGHT_TEST_SEED"),
             *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 300);
  for (uint64_t seed = begin; seed < end; ++seed) {
    std::string text = tile::randomFusion(seed, 3 + static_cast<int>(seed % 9));
    const size_t brace = text.find("module");
    if (brace == std::string::npos)
      text = concat("module attributes {", target(seed), "} {\n", text, "\n}");
    auto module = parse(text);
    ASSERT_TRUE(module) << text;
    if (brace != std::string::npos) {
      auto attributes = parse(concat("module attributes {", target(seed), "} {}"));
      (*module)->setAttrs((*attributes)->getAttrs());
    }
    mlir::PassManager tiles(&context);
    tiles.addPass(tile::createTileFusionsPass());
    ASSERT_TRUE(mlir::succeeded(tiles.run(*module)));
    std::string before;
    llvm::raw_string_ostream(before) << *module;
    for (tile::KernelOp kernel : llvm::make_early_inc_range(module->getOps<tile::KernelOp>())) {
      SolveReport report;
      std::optional<Certificate> certificate = solveLayouts(kernel, seed % 3 == 0 ? 8 : 0, report);
      ++kernels;
      if (!certificate) {
        ++refused;
        kernel.erase();
      }
    }
    mlir::PassManager solve(&context);
    solve.addPass(createSolveLayoutsPass());
    ASSERT_TRUE(mlir::succeeded(solve.run(*module))) << before;
    ASSERT_TRUE(mlir::succeeded(mlir::verify(*module))) << before;
    EXPECT_EQ(llvm::range_size(module->getOps<tile::KernelOp>()), 0U);
    module->walk([&](sm::ConvertOp) { ++converts; });
  }
  std::cout << kernels << " kernels, " << refused << " refused, " << converts << " conversions\n";
  for (const auto &[message, times] : refusals)
    std::cout << "  " << times << " times: " << message << "\n";
  EXPECT_GE(kernels, static_cast<int>(end - begin) * 9 / 10);
  EXPECT_EQ(refused, 0);
}

/// A kernel of `count` independent chains: a load, eight ops, a store.
std::string chains(int count) {
  std::string arguments, body;
  for (int i = 0; i < count; ++i) {
    arguments += concat(", %x", i, ": memref<64x128xf32>");
    auto map = [&](const std::string &to, const std::string &inputs, const std::string &types,
                   const std::string &type, const std::string &arguments, const std::string &op) {
      return concat("  %", to, " = tile.map(", inputs, ") : (", types, ") -> ", type, " {\n  ^bb0(",
                    arguments, "):\n    %r = ", op, " : f32\n    tile.yield %r : f32\n  }\n");
    };
    const std::string wide = "tensor<64x128xf32>", tall = "tensor<128x64xf32>",
                      n = std::to_string(i);
    body +=
        concat("  %a", n, " = tile.load %x", n, "[%c, %c] : memref<64x128xf32> -> ", wide, "\n");
    body += map(concat("b", n), concat("%a", n), wide, wide, "%e: f32", "math.exp %e");
    body += map(concat("c", n), concat("%b", n, ", %a", n), wide + ", " + wide, wide,
                "%e: f32, %f: f32", "arith.addf %e, %f");
    body += concat("  %t", n, " = tile.view %c", n, " affine_map<(i, j) -> (j, i)> : ", wide,
                   " -> ", tall, "\n");
    body += map(concat("d", n), concat("%t", n), tall, tall, "%e: f32", "math.tanh %e");
    body +=
        concat("  %s", n, " = tile.reduce %d", n, " init %z : f32 dims [0] : ", tall,
               " -> tensor<64xf32> {\n  ^bb0(%e: f32, %f: f32):\n    %r = arith.addf %e, %f : f32\n"
               "    tile.yield %r : f32\n  }\n");
    body += concat("  %v", n, " = tile.view %s", n,
                   " affine_map<(i, j) -> (j)> : tensor<64xf32> -> ", tall, "\n");
    body += map(concat("f", n), concat("%d", n, ", %v", n), tall + ", " + tall, tall,
                "%e: f32, %f: f32", "arith.divf %e, %f");
    body += map(concat("g", n), concat("%f", n), tall, tall, "%e: f32", "math.absf %e");
    body += concat("  tile.store %g", n, ", %y", n, "[%c, %c] : ", tall, ", memref<128x64xf32>\n");
  }
  for (int i = 0; i < count; ++i)
    arguments += concat(", %y", i, ": memref<128x64xf32>");
  return concat("tile.kernel @chains grid [1] inputs ", count, " {\n^bb0(%i: index", arguments,
                "):\n", "  %c = arith.constant 0 : index\n  %z = arith.constant 0.0 : f32\n", body,
                "}\n");
}

TEST_F(Solve, TimeIsLinearInUnrelatedWork) {
  std::map<int, double> milliseconds;
  std::map<int, SolveReport> reports;
  for (int count : {1, 2, 4, 8, 16, 32, 64}) {
    auto module = parse(chains(count));
    ASSERT_TRUE(module);
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
      // CPU time, because the machine may be busy.
      const std::clock_t start = std::clock();
      SolveReport report;
      ASSERT_TRUE(solveLayouts(kernel, 4, report));
      best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      reports[count] = report;
    }
    milliseconds[count] = best;
    std::cout << count << " chains of 8 ops: " << best << " ms, " << reports[count].unknowns
              << " unknowns in " << reports[count].components << " components, "
              << reports[count].steps << " steps\n";
  }
  EXPECT_EQ(reports[64].components, 64U);
  EXPECT_EQ(reports[64].steps, 64 * reports[1].steps);
  EXPECT_LT(milliseconds[16], 20 * slowness());
  EXPECT_LT(milliseconds[64], 8 * milliseconds[16]);
}

const char *softmaxOfRows = R"(
tile.kernel @softmax grid [1] inputs 1 {
^bb0(%i: index, %x: memref<16x128xf32>, %y: memref<16x128xf32>):
  %c = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %t = tile.load %x[%c, %c] : memref<16x128xf32> -> tensor<16x128xf32>
  %s = tile.reduce %t init %z : f32 dims [1] : tensor<16x128xf32> -> tensor<16xf32> {
  ^bb0(%e: f32, %f: f32):
    %r = arith.addf %e, %f : f32
    tile.yield %r : f32
  }
  %v = tile.view %s affine_map<(i, j) -> (i)> : tensor<16xf32> -> tensor<16x128xf32>
  %q = tile.map(%t, %v) : (tensor<16x128xf32>, tensor<16x128xf32>) -> tensor<16x128xf32> {
  ^bb0(%e: f32, %f: f32):
    %r = arith.divf %e, %f : f32
    tile.yield %r : f32
  }
  tile.store %q, %y[%c, %c] : tensor<16x128xf32>, memref<16x128xf32>
})";

TEST_F(Solve, TheCheckerRefusesEveryLayoutThatIsWrong) {
  auto module = parse(softmaxOfRows);
  auto kernel = *module->getOps<tile::KernelOp>().begin();
  SolveReport report;
  std::optional<Certificate> certificate = solveLayouts(kernel, 4, report);
  ASSERT_TRUE(certificate);
  ASSERT_EQ(checkCertificate(kernel, *certificate), "");
  // Give each value and each use in turn another layout that is valid for the tile.
  auto other = [](mlir::Type type) {
    return llvm::cast<mlir::RankedTensorType>(type).getRank() == 2
               ? *sm::Layout::parse("[16 lane:2] [4 warp, 16 reg, 2 lane]")
               : *sm::Layout::parse("[16 lane] copies [2 lane:16, 4 warp]");
  };
  int tried = 0;
  for (auto &[value, layout] : certificate->values) {
    // A load's result may have any layout.
    if (value.getDefiningOp<tile::LoadOp>())
      continue;
    Certificate wrong = *certificate;
    wrong.values[value] = other(value.getType());
    EXPECT_NE(checkCertificate(kernel, wrong), "") << layout.str();
    ++tried;
  }
  for (auto &[operand, layout] : certificate->uses) {
    if (llvm::isa<tile::StoreOp>(operand->getOwner()))
      continue;
    Certificate wrong = *certificate;
    wrong.uses[operand] = other(operand->get().getType());
    EXPECT_NE(checkCertificate(kernel, wrong), "") << layout.str();
    ++tried;
  }
  EXPECT_EQ(tried, 7);
  // Layouts that are not valid for any tile.
  mlir::Value loaded = (*kernel.getBlock().getOps<tile::LoadOp>().begin()).getResult();
  for (auto [text, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"[16 reg] [32 lane]", "does not cover"},
           {"[16 reg] [4 reg:16, 32 lane]", "another machine"},
           {"[16 reg:2] [4 warp, 32 lane]", "gaps"},
           {"[16 reg]", "rank differs"}}) {
    Certificate wrong = *certificate;
    wrong.values[loaded] = *sm::Layout::parse(text);
    EXPECT_THAT(checkCertificate(kernel, wrong), HasSubstr(message)) << text;
  }
}

TEST_F(Solve, TheCheckerKnowsFragments) {
  auto module = parse(R"(
tile.kernel @dot grid [1] inputs 3 {
^bb0(%i: index, %x: memref<64x32xf16>, %w: memref<32x64xf16>, %b: memref<64x64xf32>, %y: memref<64x64xf32>):
  %c = arith.constant 0 : index
  %t = tile.load %x[%c, %c] : memref<64x32xf16> -> tensor<64x32xf16>
  %u = tile.load %w[%c, %c] : memref<32x64xf16> -> tensor<32x64xf16>
  %v = tile.load %b[%c, %c] : memref<64x64xf32> -> tensor<64x64xf32>
  %d = tile.dot %t, %u, %v : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  tile.store %d, %y[%c, %c] : tensor<64x64xf32>, memref<64x64xf32>
})");
  auto kernel = *module->getOps<tile::KernelOp>().begin();
  SolveReport report;
  std::optional<Certificate> certificate = solveLayouts(kernel, 4, report);
  ASSERT_TRUE(certificate);
  auto dot = *kernel.getBlock().getOps<tile::DotOp>().begin();
  Certificate wrong = *certificate;
  wrong.uses[&dot.getLhsMutable()] = *sm::Layout::parse("[4 warp, 16 reg] [32 lane]");
  EXPECT_THAT(checkCertificate(kernel, wrong), HasSubstr("left operand that is not a fragment"));
  // Valid fragments, but with a different arrangement of the warps than the accumulator's.
  const std::string rows = "[4 warp, 2 reg:2, 8 lane:4] [2 reg:8, 2 reg:4, 4 lane, 2 reg]";
  const std::string columns =
      "[2 reg:32, 2 reg:16, 2 reg:2, 8 lane:4] [2 reg:8, 2 reg:4, 4 lane, 2 reg] copies [4 warp]";
  const std::string halves =
      "[2 warp, 2 reg:16, 2 reg:2, 8 lane:4] [2 reg:8, 2 reg:4, 4 lane, 2 reg] copies [2 warp:2]";
  int refused = 0;
  for (const std::string &text : {rows, columns, halves}) {
    wrong = *certificate;
    std::optional<sm::Layout> layout = sm::Layout::parse(text);
    ASSERT_TRUE(layout) << text;
    wrong.uses[&dot.getLhsMutable()] = *layout;
    const std::string problem = checkCertificate(kernel, wrong);
    refused += !problem.empty();
    if (!problem.empty())
      EXPECT_THAT(problem, HasSubstr("blocks differ from those of its accumulator"));
  }
  EXPECT_EQ(refused, 2) << "one of the three is the right one";
}

/// A product with block scales for a chip whose waves multiply with scales: gfx950.
std::string scaledProduct(int64_t m, int64_t n, int64_t lines, const std::string &target) {
  const std::string lhs = concat(m, "x128xi8"), rhs = concat("128x", n, "xi8"),
                    out = concat(m, "x", n, "xf32"), scales = concat("1x1x", lines, "x128xi8"),
                    type = lines == 4 ? "f8E4M3FN" : "f4E2M1FN";
  return concat("module attributes {exec.target = #exec.target<gpu = <", target, ">>} {\n",
                "tile.kernel @dot grid [1] inputs 5 {\n^bb0(%i: index, %x: memref<", lhs,
                ">, %w: memref<", rhs, ">, %b: memref<", out, ">, %sx: memref<", scales,
                ">, %sw: memref<", scales, ">, %y: memref<", out,
                ">):\n  %c = arith.constant 0 : index\n", "  %t = tile.load %x[%c, %c] : memref<",
                lhs, "> -> tensor<", lhs, ">\n", "  %u = tile.load %w[%c, %c] : memref<", rhs,
                "> -> tensor<", rhs, ">\n", "  %v = tile.load %b[%c, %c] : memref<", out,
                "> -> tensor<", out, ">\n", "  %p = tile.load %sx[%c, %c, %c, %c] : memref<",
                scales, "> -> tensor<", scales, ">\n",
                "  %q = tile.load %sw[%c, %c, %c, %c] : memref<", scales, "> -> tensor<", scales,
                ">\n", "  %d = tile.dot %t, %u, %v scaled(%p : tensor<", scales, ">, %q : tensor<",
                scales, ">) {block = 32 : i64, lhs_type = ", type, ", rhs_type = ", type,
                ", scale_type = f8E8M0FNU} : tensor<", lhs, ">, tensor<", rhs, "> -> tensor<", out,
                ">\n  tile.store %d, %y[%c, %c] : tensor<", out, ">, memref<", out, ">\n}\n}");
}

constexpr const char *gfx950 =
    "warp_size = 64, shared_bytes = 163840>, rates = <f8 = 4096, f4 = 8192";

TEST_F(Solve, ScalesOfAnyTileAreInTheLanesOfTheirRows) {
  int solved = 0;
  for (int64_t m : {16, 32, 64, 128})
    for (int64_t n : {16, 32, 64, 128})
      for (int64_t lines : {4, 8})
        for (int64_t warps : {1, 2, 4, 8}) {
          auto module = parse(scaledProduct(m, n, lines, gfx950));
          ASSERT_TRUE(module);
          SolveReport report;
          // It checks the certificate.
          EXPECT_TRUE(solveLayouts(*module->getOps<tile::KernelOp>().begin(), warps, report))
              << m << " x " << n << ", " << lines << " lines, " << warps << " warps";
          ++solved;
        }
  EXPECT_EQ(solved, 128);
}

TEST_F(Solve, TheCheckerKnowsScales) {
  auto module = parse(scaledProduct(64, 128, 4, gfx950));
  auto kernel = *module->getOps<tile::KernelOp>().begin();
  SolveReport report;
  std::optional<Certificate> certificate = solveLayouts(kernel, 4, report);
  ASSERT_TRUE(certificate);
  auto dot = *kernel.getBlock().getOps<tile::DotOp>().begin();
  mlir::OpOperand &scales = *dot.getLhsScaleMutable().begin();
  // Lanes have rows of each other; warps have rows of each other.
  for (const auto &[text, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"[] [] [2 reg:16, 2 lane] [8 lane:2, 16 reg] copies [4 lane:16, 4 warp]",
            "not in the lanes of their rows"},
           {"[] [] [2 warp:2, 2 lane:8] [8 lane, 2 reg:4, 2 warp, 4 reg] copies [4 lane:16]",
            "lacks scales of rows"}}) {
    Certificate wrong = *certificate;
    std::optional<sm::Layout> layout = sm::Layout::parse(text);
    ASSERT_TRUE(layout) << text;
    wrong.uses[&scales] = *layout;
    EXPECT_THAT(checkCertificate(kernel, wrong), HasSubstr(message)) << text;
  }
}

TEST_F(Solve, ScalesInRegistersAreRefusedWhereNoInstructionReadsThem) {
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str();
    return mlir::success();
  });
  for (const char *target :
       {"warp_size = 64>, rates = <f8 = 2048", "warp_size = 32>, rates = <f8 = 4096, f4 = 8192"}) {
    auto module = parse(scaledProduct(64, 64, 4, target));
    ASSERT_TRUE(module);
    SolveReport report;
    messages.clear();
    EXPECT_FALSE(solveLayouts(*module->getOps<tile::KernelOp>().begin(), 4, report));
    EXPECT_THAT(messages, HasSubstr("no instruction of this chip multiplies these types with "
                                    "block scales in registers"));
  }
}

TEST_F(Solve, ProductsOfAnySizeAndTypeGetFragments) {
  int solved = 0;
  for (const char *type : {"f16", "bf16", "f32", "f64", "i8"})
    for (int m : {0, 1, 7, 40, 64, 128})
      for (int n : {1, 8, 24, 128})
        for (int k : {1, 16, 33, 64}) {
          const std::string element = type, sum = element == "f64"  ? "f64"
                                                  : element == "i8" ? "i32"
                                                                    : "f32";
          const std::string lhs = concat(m, "x", k, "x", element),
                            rhs = concat(k, "x", n, "x", element),
                            out = concat(m, "x", n, "x", sum);
          auto module = parse(concat(
              "tile.kernel @dot grid [1] inputs 3 {\n^bb0(%i: index, %x: memref<", lhs,
              ">, %w: memref<", rhs, ">, %b: memref<", out, ">, %y: memref<", out,
              ">):\n  %c = arith.constant 0 : index\n", "  %t = tile.load %x[%c, %c] : memref<",
              lhs, "> -> tensor<", lhs, ">\n", "  %u = tile.load %w[%c, %c] : memref<", rhs,
              "> -> tensor<", rhs, ">\n", "  %v = tile.load %b[%c, %c] : memref<", out,
              "> -> tensor<", out, ">\n", "  %d = tile.dot %t, %u, %v ",
              element == "f32" ? "tf32 " : "", ": tensor<", lhs, ">, tensor<", rhs, "> -> tensor<",
              out, ">\n  tile.store %d, %y[%c, %c] : tensor<", out, ">, memref<", out, ">\n}"));
          ASSERT_TRUE(module);
          mlir::PassManager passes(&context);
          passes.addPass(createSolveLayoutsPass({.warps = solved % 2 ? 8 : 4}));
          ASSERT_TRUE(mlir::succeeded(passes.run(*module))) << lhs << " times " << rhs;
          ++solved;
        }
  EXPECT_EQ(solved, 480);
}

} // namespace
