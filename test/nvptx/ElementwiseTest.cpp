// Loads, computes on and stores every element type.
#include "test/nvptx/GpuKernels.h"

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/support/Concat.h"

#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::nvptx;

namespace {

/// A kernel over a ragged tensor of 37x90 in tiles of 16x64 that yields `body` of its inputs.
std::string elementwise(const std::vector<std::string> &inputs, std::string_view output,
                        std::string_view body, int64_t vector = 2) {
  std::string layout = sm::Layout::blocked({16, 64}, {1, 0}, vector, 32, 2).str();
  std::string memory, loads, operands, types, arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const char *comma = i ? ", " : "";
    memory += concat("%x", i, ": memref<37x90x", inputs[i], ">, ");
    loads +=
        concat("  %t", i, " = tile.load %x", i, "[%r, %c] in_bounds [false, false] : memref<37x90x",
               inputs[i], "> -> tensor<16x64x", inputs[i], ", #l>\n");
    operands += concat(comma, "%t", i);
    types += concat(comma, "tensor<16x64x", inputs[i], ", #l>");
    arguments += concat(comma, "%a", i, ": ", inputs[i]);
  }
  return concat("#l = #sm.layout<", layout, ">\nsm.kernel @f grid [3, 2] inputs ", inputs.size(),
                " warps 2 {\n^bb0(%i: index, %j: index, ", memory, "%out: memref<37x90x", output,
                ">):\n  %r = affine.apply affine_map<(i) -> (i * 16)>(%i)\n"
                "  %c = affine.apply affine_map<(i) -> (i * 64)>(%j)\n",
                loads, "  %y = tile.map(", operands, ") : (", types, ") -> tensor<16x64x", output,
                ", #l> {\n  ^bb0(", arguments, "):\n", body, "\n    tile.yield %v : ", output,
                "\n  }\n  tile.store %y, %out[%r, %c] in_bounds [false, false] : tensor<16x64x",
                output, ", #l>, memref<37x90x", output, ">\n}\n");
}

class Elementwise : public testing::TestWithParam<const char *> {
protected:
  void expectEqual(const std::vector<std::string> &inputs, std::string_view output,
                   std::string_view body, Comparison comparison = {}) {
    EXPECT_EQ(compareWithEvaluator(elementwise(inputs, output, body), GetParam(), comparison), "")
        << output << ": " << body;
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, Elementwise, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return std::string(info.param); });

const char *const integers[] = {"i1", "i2", "i4", "i8", "i16", "i32", "i64"};
const char *const floats[] = {"f64",        "f32",      "f16",      "bf16",          "f8E5M2",
                              "f8E4M3FN",   "f8E4M3",   "f8E3M4",   "f8E4M3B11FNUZ", "f8E4M3FNUZ",
                              "f8E5M2FNUZ", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"};

TEST_P(Elementwise, Integers) {
  for (std::string type : integers) {
    expectEqual(
        {type, type}, type,
        concat("    %s = arith.addi %a0, %a1 : ", type, "\n    %m = arith.muli %s, %a0 : ", type,
               "\n    %x = arith.xori %m, %a1 : ", type,
               "\n    %v = ", type == "i1" ? "arith.ori" : "arith.maxsi", " %x, %a0 : ", type));
    expectEqual({type, type}, "i1", concat("    %v = arith.cmpi ult, %a0, %a1 : ", type));
  }
  for (std::string type : {"i8", "i16", "i32", "i64"})
    expectEqual(
        {type, type}, type,
        concat("    %one = arith.constant 1 : ", type, "\n    %d = arith.ori %a1, %one : ", type,
               "\n    %q = arith.divui %a0, %d : ", type, "\n    %w = arith.remui %a0, %d : ", type,
               "\n    %v = arith.xori %q, %w : ", type));
}

TEST_P(Elementwise, Floats) {
  for (std::string type : floats) {
    expectEqual({type, type}, type,
                concat("    %s = arith.addf %a0, %a1 : ", type, "\n    %m = arith.mulf %s, %a0 : ",
                       type, "\n    %v = arith.maximumf %m, %a1 : ", type));
    expectEqual({type, type}, "i1", concat("    %v = arith.cmpf olt, %a0, %a1 : ", type));
  }
  for (std::string type : {"f64", "f32", "f16", "bf16"})
    expectEqual({type, type}, type,
                concat("    %d = arith.divf %a0, %a1 : ", type, "\n    %q = math.absf %d : ", type,
                       "\n    %root = math.sqrt %q : ", type,
                       "\n    %v = arith.remf %root, %a1 : ", type));
}

TEST_P(Elementwise, Conversions) {
  for (std::string type : floats)
    if (type != "f64")
      expectEqual({"f64"}, type, concat("    %v = arith.truncf %a0 : f64 to ", type));
  for (std::string type : {"f16", "bf16", "f8E4M3FN", "f4E2M1FN"}) {
    expectEqual({type}, "f64", concat("    %v = arith.extf %a0 : ", type, " to f64"));
    for (std::string integer : {"i8", "i32", "i64"}) {
      expectEqual({integer}, type, concat("    %v = arith.sitofp %a0 : ", integer, " to ", type));
      expectEqual({integer}, type, concat("    %v = arith.uitofp %a0 : ", integer, " to ", type));
    }
  }
  expectEqual({"f32"}, "i8", "    %v = arith.fptosi %a0 : f32 to i8");
  expectEqual({"f64"}, "i64", "    %v = arith.fptosi %a0 : f64 to i64");
  expectEqual({"i32"}, "f32", "    %v = arith.bitcast %a0 : i32 to f32");
  expectEqual({"f16"}, "i16", "    %v = arith.bitcast %a0 : f16 to i16");
}

TEST_P(Elementwise, RoundsToPowersOfTwo) {
  expectEqual({"f32"}, "f8E8M0FNU",
              "    %s = math.absf %a0 : f32\n    %v = arith.truncf %s : f32 to f8E8M0FNU");
  expectEqual({"f8E8M0FNU"}, "f32", "    %v = arith.extf %a0 : f8E8M0FNU to f32");
}

TEST_P(Elementwise, Functions) {
  // The evaluator is correctly rounded; the READMEs of target/cpu and target/lanes list the
  // ulps.
  Comparison within;
  within.tolerance = 3e-7;
  for (std::string op : {"exp", "expm1", "log1p", "tanh", "erf", "sin", "cos", "cbrt"})
    expectEqual({"f32"}, "f32", concat("    %v = math.", op, " %a0 : f32"), within);
  expectEqual(
      {"f32"}, "f32",
      "    %s = math.absf %a0 : f32\n    %l = math.log %s : f32\n    %v = math.rsqrt %s : f32",
      {.tolerance = 1e-4});
  expectEqual({"f32", "f32"}, "f32",
              "    %s = math.absf %a0 : f32\n    %v = math.powf %s, %a1 : f32",
              {.tolerance = 1e-6});
  expectEqual({"f32", "f32"}, "f32", "    %v = math.atan2 %a0, %a1 : f32", within);
  Comparison far = within;
  far.range = 1e9;
  expectEqual({"f32"}, "f32", "    %v = math.sin %a0 : f32", far);
  within.tolerance = 1e-15;
  for (std::string op : {"exp", "expm1", "tanh", "cbrt"})
    expectEqual({"f64"}, "f64", concat("    %v = math.", op, " %a0 : f64"), within);
  expectEqual({"f64"}, "f64", "    %s = math.absf %a0 : f64\n    %v = math.log %s : f64", within);
}

TEST_P(Elementwise, Complex) {
  for (std::string part : {"f32", "f64"}) {
    const std::string type = concat("complex<", part, ">");
    // The evaluator rounds once, while the instructions round each product.
    expectEqual(
        {type, type}, type,
        concat("    %s = complex.add %a0, %a1 : ", type, "\n    %v = complex.mul %s, %a0 : ", type),
        {.tolerance = part == "f32" ? 1e-5 : 1e-13});
    expectEqual({type}, part, concat("    %v = complex.im %a0 : ", type));
  }
}

TEST_P(Elementwise, FunctionsOfComplex) {
  Comparison within;
  within.tolerance = 3e-7;
  const std::string type = "complex<f32>";
  for (std::string op : {"exp", "log", "sqrt", "rsqrt", "sin", "cos", "sign"})
    expectEqual({type}, type, concat("    %v = complex.", op, " %a0 : ", type), within);
  expectEqual({type, type}, type, concat("    %v = complex.div %a0, %a1 : ", type), within);
  expectEqual({type}, "f32", concat("    %v = complex.abs %a0 : ", type), within);
}

TEST(ElementwiseCode, VectorsAreAsWideAsTheyMayBe) {
  const Chip &chip = *chipNamed("sm_90a");
  auto ptxOf = [&](std::string text) { return compileText(text, chip)->ptx; };
  // Rows of 90 f16 are aligned to only four bytes.
  std::string ragged = ptxOf(elementwise({"f16"}, "f16", "    %v = arith.negf %a0 : f16", 8));
  EXPECT_NE(ragged.find("ld.global.b32"), std::string::npos) << ragged;
  EXPECT_EQ(ragged.find("ld.global.v"), std::string::npos);
}

} // namespace
