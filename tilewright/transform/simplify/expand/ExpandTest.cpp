// Compares ops of random shapes and attributes with their expansions, both in the reference
// interpreter.
#include "tilewright/transform/simplify/expand/testing/Difference.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tilewright;
using namespace tilewright::expansion;

namespace {

//===- Windows -------------------------------------------------------------===//

/// A random window and the tensor under it.
struct RandomWindow {
  Dims input, size, stride, base, dilation, padding, result;

  RandomWindow(Random &random, int64_t rank, bool dilates, int64_t longest) {
    for (int64_t dim = 0; dim < rank; ++dim) {
      const bool isLong = longest > 0 && (dim == 0 || random() % 2 == 0);
      input.push_back(isLong ? between(random, 1, longest) : between(random, 0, 7));
      size.push_back(isLong ? between(random, 1, longest) : between(random, 1, 4));
      stride.push_back(isLong && random() % 3 == 0 ? size.back() + between(random, 0, 2)
                                                   : between(random, 1, 3));
      base.push_back(dilates && random() % 3 == 0 ? between(random, 2, 3) : 1);
      dilation.push_back(dilates && random() % 3 == 0 ? between(random, 2, 3) : 1);
      for (int side = 0; side < 2; ++side)
        padding.push_back(random() % 2   ? 0
                          : isLong       ? between(random, 0, size.back() - 1)
                          : random() % 4 ? between(random, 0, 3)
                                         : -1);
      const int64_t extent = input.back() == 0 ? 0 : (input.back() - 1) * base.back() + 1;
      const int64_t padded = extent + padding[padding.size() - 2] + padding.back();
      const int64_t window = (size.back() - 1) * dilation.back() + 1;
      result.push_back(padded < window ? 0 : (padded - window) / stride.back() + 1);
    }
  }
  bool isEmpty() const { return llvm::is_contained(result, 0); }
  std::string pads() const {
    std::string rows;
    for (size_t i = 0; i < padding.size(); i += 2)
      rows += concat(i ? ", [" : "[", padding[i], ", ", padding[i + 1], "]");
    return concat("dense<", rows.empty() ? "" : "[", rows, rows.empty() ? "" : "]", "> : tensor<",
                  padding.size() / 2, "x2xi64>");
  }
};

std::string reduceWindow(const RandomWindow &window, const std::string &element,
                         const std::string &init, const std::string &body) {
  const std::string scalar = tensorType({}, element), input = tensorType(window.input, element);
  const std::string result = tensorType(window.result, element);
  return concat(
      "func.func @main(%x: ", input, ", %given: ", scalar, ") -> ", result, " {\n", init,
      "  %r = \"stablehlo.reduce_window\"(%x, %init) <{window_dimensions = ", list(window.size),
      ", window_strides = ", list(window.stride), ", base_dilations = ", list(window.base),
      ", window_dilations = ", list(window.dilation), ", padding = ", window.pads(),
      "}> ({\n  ^bb0(%a: ", scalar, ", %b: ", scalar, "):\n", body,
      "  stablehlo.return %v : ", scalar, "\n  }) : (", input, ", ", scalar, ") -> ", result,
      "\n  return %r : ", result, "\n}\n");
}

/// An initial value: an argument, or a constant.
std::string initOf(const std::string &element, const std::string &constant) {
  const std::string scalar = tensorType({}, element);
  if (constant.empty())
    return concat("  %init = stablehlo.reshape %given : (", scalar, ") -> ", scalar, "\n");
  return concat("  %init = stablehlo.constant dense<", constant, "> : ", scalar, "\n");
}

std::string binaryBody(const std::string &op, const std::string &element) {
  return concat("    %v = stablehlo.", op, " %a, %b : ", tensorType({}, element), "\n");
}

/// A body that depends on the order and the grouping of its elements.
std::string orderedBody(const std::string &element) {
  const std::string type = tensorType({}, element);
  return concat("    %three = stablehlo.constant dense<3> : ", type,
                "\n    %t = stablehlo.multiply %a, %three : ", type,
                "\n    %v = stablehlo.subtract %t, %b : ", type, "\n");
}

struct Monoid {
  std::string op, element, identity;
};
const std::vector<Monoid> monoids = {
    {"add", "i32", "0"},
    {"add", "f32", "0.0"},
    {"add", "bf16", "-0.0"},
    {"multiply", "i64", "1"},
    {"maximum", "f32", "0xFF800000"},
    {"maximum", "i8", "-128"},
    {"minimum", "ui32", "4294967295"},
    {"minimum", "f64", "0x7FF0000000000000"},
    {"and", "i1", "true"},
    {"or", "i16", "0"},
    {"add", "complex<f32>", "(0.0, 0.0)"},
};

} // namespace

TEST(ExpandReduceWindow, FewTapsGiveTheSameBits) {
  Random random(1);
  int64_t compared = 0;
  for (int draw = 0; draw < 1500; ++draw) {
    RandomWindow window(random, between(random, 0, 3), /*dilates=*/true, /*longest=*/0);
    const Monoid &monoid = oneOf(random, monoids);
    const bool isIdentity = random() % 2 == 0;
    const std::string text =
        reduceWindow(window, monoid.element,
                     initOf(monoid.element, isIdentity ? monoid.identity : std::string()),
                     binaryBody(monoid.op, monoid.element));
    const Inputs inputs =
        monoid.op == "maximum" || monoid.op == "minimum" ? Inputs::special : Inputs::exact;
    ASSERT_EQ(difference("stablehlo.reduce_window", text, random(), inputs), "");
    compared += !window.isEmpty();
  }
  EXPECT_GT(compared, 700);
}

TEST(ExpandReduceWindow, UpTo32TapsAreCombinedInOrderAndTheInitialValueOnce) {
  Random random(2);
  for (int draw = 0; draw < 500; ++draw) {
    RandomWindow window(random, between(random, 1, 2), /*dilates=*/true, /*longest=*/0);
    ASSERT_EQ(difference("stablehlo.reduce_window",
                         reduceWindow(window, "i32", initOf("i32", ""), orderedBody("i32")),
                         random(), Inputs::exact),
              "");
  }
}

TEST(ExpandReduceWindow, LongWindowsTakeStepsOrReductions) {
  Random random(3);
  for (int draw = 0; draw < 300; ++draw) {
    RandomWindow window(random, between(random, 1, 2), /*dilates=*/draw % 2 == 0, /*longest=*/90);
    const Monoid &monoid = oneOf(random, monoids);
    if (monoid.op == "multiply" || monoid.element == "bf16")
      continue; // a long product overflows; a long sum rounds
    const bool isIdentity = random() % 2 == 0;
    const std::string text =
        reduceWindow(window, monoid.element,
                     initOf(monoid.element, isIdentity ? monoid.identity : std::string()),
                     binaryBody(monoid.op, monoid.element));
    ASSERT_EQ(difference("stablehlo.reduce_window", text, random(), Inputs::exact), "");
  }
}

TEST(ExpandReduceWindow, PrefixSumsTakeLogarithmicallyManySteps) {
  RandomWindow window(*std::make_unique<Random>(0), 1, false, 0);
  for (int64_t n : {65, 100, 128, 1000}) {
    window.input = window.size = window.result = {n};
    window.stride = window.base = window.dilation = {1};
    window.padding = {n - 1, 0};
    for (const char *init : {"0", ""})
      ASSERT_EQ(
          difference("stablehlo.reduce_window",
                     reduceWindow(window, "i32", initOf("i32", init), binaryBody("add", "i32")), 1,
                     Inputs::exact),
          "");
  }
}

/// The index of the maximum, as jax.lax.argmax reduces it.
TEST(ExpandReduceWindow, SeveralOperandsAreReducedTogether) {
  for (int64_t size : {3, 70}) {
    const int64_t n = 80, result = n - size + 3;
    const std::string text =
        concat("func.func @main(%x: tensor<", n, "xf32>, %i: tensor<", n, "xi32>) -> (tensor<",
               result, "xf32>, tensor<", result, R"(xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %r:2 = "stablehlo.reduce_window"(%x, %i, %low, %none) <{window_dimensions = array<i64: )",
               size, R"(>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %k: tensor<i32>, %b: tensor<f32>, %l: tensor<i32>):
    %ge = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %ge, %a, %b : tensor<i1>, tensor<f32>
    %j = stablehlo.select %ge, %k, %l : tensor<i1>, tensor<i32>
    stablehlo.return %v, %j : tensor<f32>, tensor<i32>
  }) : (tensor<)",
               n, "xf32>, tensor<", n, "xi32>, tensor<f32>, tensor<i32>) -> (tensor<", result,
               "xf32>, tensor<", result, "xi32>)\n  return %r#0, %r#1 : tensor<", result,
               "xf32>, tensor<", result, "xi32>\n}\n");
    for (uint64_t seed = 0; seed < 8; ++seed)
      ASSERT_EQ(difference("stablehlo.reduce_window", text, seed, Inputs::exact), "");
  }
}

/// Composes x -> scale * x + shift, which is associative but not commutative.
static std::string reduceMaps(const Dims &shape, const Dims &dims, bool onlyLast) {
  Dims kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(shape[static_cast<size_t>(dim)]);
  const std::string input = tensorType(shape, "i32"), result = tensorType(kept, "i32");
  const char *body = onlyLast ? "    stablehlo.return %c, %d : tensor<i32>, tensor<i32>\n"
                              : R"(    %scale = stablehlo.multiply %a, %c : tensor<i32>
    %moved = stablehlo.multiply %a, %d : tensor<i32>
    %shift = stablehlo.add %moved, %b : tensor<i32>
    stablehlo.return %scale, %shift : tensor<i32>, tensor<i32>
)";
  return concat("func.func @main(%x: ", input, ", %y: ", input,
                ", %s: tensor<i32>, %t: tensor<i32>) -> (", result, ", ", result,
                ") {\n  %r:2 = \"stablehlo.reduce\"(%x, %y, %s, %t) <{dimensions = ", list(dims),
                "}> ({\n  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: "
                "tensor<i32>):\n",
                body, "  }) : (", input, ", ", input, ", tensor<i32>, tensor<i32>) -> (", result,
                ", ", result, ")\n  return %r#0, %r#1 : ", result, ", ", result, "\n}\n");
}

TEST(ExpandReduce, ABodyThatIsNotCommutativeCombinesInOrder) {
  Random random(6);
  for (int draw = 0; draw < 200; ++draw) {
    Dims shape, dims;
    const int64_t rank = between(random, 1, 3);
    for (int64_t dim = 0; dim < rank; ++dim) {
      shape.push_back(between(random, rank == 1 ? 1 : 0, rank == 1 ? 300 : 9));
      if (random() % 2 == 0)
        dims.push_back(dim);
    }
    if (dims.empty())
      dims.push_back(between(random, 0, rank - 1));
    for (bool onlyLast : {false, true})
      ASSERT_EQ(difference("stablehlo.reduce", reduceMaps(shape, dims, onlyLast), random(),
                           Inputs::exact),
                "");
  }
}

static std::string selectAndScatter(const RandomWindow &window, const std::string &element,
                                    const std::string &direction, const std::string &scatter) {
  const std::string scalar = tensorType({}, element), input = tensorType(window.input, element);
  const std::string source = tensorType(window.result, element);
  return concat(
      "func.func @main(%x: ", input, ", %s: ", source, ", %init: ", scalar, ") -> ", input,
      " {\n  %r = \"stablehlo.select_and_scatter\"(%x, %s, %init) <{"
      "window_dimensions = ",
      list(window.size), ", window_strides = ", list(window.stride), ", padding = ", window.pads(),
      "}> ({\n  ^bb0(%a: ", scalar, ", %b: ", scalar, "):\n    %v = stablehlo.compare ", direction,
      ", %a, %b : (", scalar, ", ", scalar,
      ") -> tensor<i1>\n    stablehlo.return %v : tensor<i1>\n  }, {\n  ^bb0(%a: ", scalar,
      ", %b: ", scalar, "):\n", scatter, "    stablehlo.return %v : ", scalar, "\n  }) : (", input,
      ", ", source, ", ", scalar, ") -> ", input, "\n  return %r : ", input, "\n}\n");
}

TEST(ExpandSelectAndScatter, EveryElementCollectsItsWindowsInOrder) {
  Random random(4);
  int64_t compared = 0;
  for (int draw = 0; draw < 1000; ++draw) {
    RandomWindow window(random, between(random, 0, 3), /*dilates=*/false, /*longest=*/0);
    if (window.isEmpty())
      continue;
    ++compared;
    const std::string direction = oneOf<std::string>(random, {"GE", "GT", "LE", "NE"});
    // The body that depends on the order finds a wrong order of windows.
    const bool isFloat = random() % 2 == 0;
    const std::string text =
        isFloat ? selectAndScatter(window, "f32", direction, binaryBody("add", "f32"))
                : selectAndScatter(window, "i32", direction, orderedBody("i32"));
    ASSERT_EQ(difference("stablehlo.select_and_scatter", text, random(),
                         isFloat ? Inputs::special : Inputs::exact),
              "");
  }
  EXPECT_GT(compared, 400);
}

TEST(ExpandSelectAndScatter, LargeWindowsTakeALoop) {
  Random random(5);
  for (int draw = 0; draw < 40; ++draw) {
    RandomWindow window(random, between(random, 1, 2), /*dilates=*/false, /*longest=*/90);
    if (!window.isEmpty())
      ASSERT_EQ(difference("stablehlo.select_and_scatter",
                           selectAndScatter(window, "i32", "GE", orderedBody("i32")), random(),
                           Inputs::exact),
                "");
  }
}

//===- Random bits ---------------------------------------------------------===//

TEST(ExpandRandomBits, BitsAndStatesAreThoseOfTheReference) {
  Random random(6);
  const std::vector<std::string> elements = {"ui64", "i64", "f64",  "ui32", "i32", "f32", "i16",
                                             "ui16", "f16", "bf16", "ui8",  "i8",  "ui4", "i4"};
  for (int draw = 0; draw < 400; ++draw) {
    const std::string algorithm = oneOf<std::string>(random, {"DEFAULT", "THREE_FRY", "PHILOX"});
    const int64_t words = algorithm != "THREE_FRY" && random() % 2 ? 3 : 2;
    Dims shape;
    for (int64_t dim = between(random, 0, 3); dim > 0; --dim)
      shape.push_back(between(random, draw % 10 == 0 ? 0 : 1, 7));
    const std::string state = concat("tensor<", words, "xui64>");
    const std::string result = tensorType(shape, oneOf(random, elements));
    const std::string text = concat(
        "func.func @main(%s: ", state, ") -> (", state, ", ", result,
        ") {\n  %r:2 = stablehlo.rng_bit_generator %s, algorithm = ", algorithm, " : (", state,
        ") -> (", state, ", ", result, ")\n  return %r#0, %r#1 : ", state, ", ", result, "\n}\n");
    ASSERT_EQ(difference("stablehlo.rng_bit_generator", text, random(), Inputs::dense), "");
  }
}

//===- Transforms ----------------------------------------------------------===//

/// Allows c * log2(n) roundings of the root mean square of the result, which is its norm.
static Allowed roundingsOfNorm(int64_t elements, double epsilon) {
  return [=](const Tensor &expected) {
    double squares = 0;
    for (int64_t i = 0; i < expected.elementCount(); ++i)
      squares += expected.at(i).r * expected.at(i).r + expected.at(i).im * expected.at(i).im;
    const double norm = std::sqrt(squares / std::max<double>(1, double(expected.elementCount())));
    return 4 * std::log2(double(elements) + 1) * epsilon * norm;
  };
}

static std::string checkFft(const std::string &kind, const Dims &batch, const Dims &lengths,
                            bool isWide, uint64_t seed) {
  const std::string real = isWide ? "f64" : "f32", complex = concat("complex<", real, ">");
  Dims full = batch;
  full.insert(full.end(), lengths.begin(), lengths.end());
  Dims half = full;
  half.back() = half.back() / 2 + 1;
  const std::string input = kind == "RFFT"    ? tensorType(full, real)
                            : kind == "IRFFT" ? tensorType(half, complex)
                                              : tensorType(full, complex);
  const std::string result = kind == "IRFFT"  ? tensorType(full, real)
                             : kind == "RFFT" ? tensorType(half, complex)
                                              : tensorType(full, complex);
  std::string numbers;
  int64_t elements = 1;
  for (int64_t length : lengths) {
    numbers += concat(numbers.empty() ? "" : ", ", length);
    elements *= length;
  }
  const std::string text =
      concat("func.func @main(%x: ", input, ") -> ", result,
             " {\n  %r = stablehlo.fft %x, type = ", kind, ", length = [", numbers, "] : (", input,
             ") -> ", result, "\n  return %r : ", result, "\n}\n");
  const double epsilon =
      isWide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  return difference("stablehlo.fft", text, seed, Inputs::dense, roundingsOfNorm(elements, epsilon));
}

TEST(ExpandFft, EveryKindAndLengthIsWithinAFewRoundingsOfTheNorm) {
  Random random(7);
  const std::vector<std::string> kinds = {"FFT", "IFFT", "RFFT", "IRFFT"};
  for (int64_t length = 1; length <= 130; ++length)
    ASSERT_EQ(checkFft(oneOf(random, kinds), {2}, {length}, length % 2, random()), "");
  // Composite, prime, with a large prime factor, and a product of primes above 64.
  for (int64_t length : {144, 251, 257, 509, 514, 1000, 1024, 1021, 4096, 67 * 71, 5040, 8192})
    for (const std::string &kind : kinds)
      ASSERT_EQ(checkFft(kind, {}, {length}, random() % 2, random()), "");
}

TEST(ExpandFft, SeveralDimensionsAreTransformedTogether) {
  Random random(8);
  for (int draw = 0; draw < 100; ++draw) {
    Dims batch, lengths;
    for (int64_t dim = between(random, 0, 2); dim > 0; --dim)
      batch.push_back(between(random, 1, 3));
    for (int64_t dim = between(random, 1, 3); dim > 0; --dim)
      lengths.push_back(between(random, 1, 12));
    const std::string kind = oneOf<std::string>(random, {"FFT", "IFFT", "RFFT", "IRFFT"});
    ASSERT_EQ(checkFft(kind, batch, lengths, draw % 2, random()), "");
  }
}

//===- Linear algebra ------------------------------------------------------===//

/// Makes the diagonal of the first input larger than the sum of the other elements of its row, so
/// that the matrix is well conditioned.
static void dominateDiagonal(RuntimeValues &inputs) {
  interpret::Context limits;
  Tensor a = *std::move(inputs[0]).takeTensor().intoSoleOwner(limits);
  const int64_t n = a.shape()[a.rank() - 1];
  for (int64_t i = 0; i < a.elementCount(); ++i) {
    const int64_t row = i / n % n, column = i % n;
    Scalar value = a.at(i);
    value.r = row == column ? double(n) + 1 + std::fabs(value.r) : value.r;
    value.im = row == column ? 0 : value.im;
    a.set(i, value);
  }
  inputs[0] = std::move(a);
}

/// Allows the backward error of a factorization of a well-conditioned matrix: n roundings.
static Allowed roundingsOfLargest(int64_t n, double epsilon) {
  return [=](const Tensor &expected) {
    double largest = 0;
    for (int64_t i = 0; i < expected.elementCount(); ++i)
      largest = std::max({largest, std::fabs(expected.at(i).r), std::fabs(expected.at(i).im)});
    return 4 * double(n) * epsilon * largest;
  };
}

static double epsilonOf(const std::string &element) {
  return element == "bf16"                         ? 0x1p-7
         : element.find("64") != std::string::npos ? std::numeric_limits<double>::epsilon()
                                                   : std::numeric_limits<float>::epsilon();
}

TEST(ExpandLinearAlgebra, CholeskyFactorsMatricesOfAnySize) {
  Random random(9);
  for (int64_t n : {1, 2, 3, 5, 8, 17, 64, 65, 130}) {
    for (const char *element : {"f32", "f64", "bf16", "complex<f32>", "complex<f64>"}) {
      const Dims shape = n < 10 ? Dims{2, 3, n, n} : Dims{n, n};
      const std::string type = tensorType(shape, element);
      const std::string text =
          concat("func.func @main(%a: ", type, ") -> ", type,
                 " {\n  %r = stablehlo.cholesky %a, lower = ", random() % 2 ? "true" : "false",
                 " : ", type, "\n  return %r : ", type, "\n}\n");
      ASSERT_EQ(difference("stablehlo.cholesky", text, random(), Inputs::dense,
                           roundingsOfLargest(n, epsilonOf(element)), dominateDiagonal),
                "");
    }
  }
}

TEST(ExpandLinearAlgebra, TriangularSolveTakesEverySideAndTranspose) {
  Random random(10);
  for (int64_t n : {1, 2, 4, 7, 65, 130})
    for (int draw = 0; draw < (n > 10 ? 8 : 40); ++draw) {
      const std::string element =
          oneOf<std::string>(random, {"f32", "f64", "complex<f32>", "complex<f64>"});
      const bool isLeft = random() % 2;
      const int64_t columns = between(random, 1, 5);
      const Dims batch = random() % 2 ? Dims{2} : Dims{};
      Dims aShape = batch, bShape = batch;
      aShape.insert(aShape.end(), {n, n});
      bShape.insert(bShape.end(), {isLeft ? n : columns, isLeft ? columns : n});
      const std::string a = tensorType(aShape, element), b = tensorType(bShape, element);
      auto flag = [&] { return random() % 2 ? "true" : "false"; };
      const std::string text = concat(
          "func.func @main(%a: ", a, ", %b: ", b, ") -> ", b,
          " {\n  %r = \"stablehlo.triangular_solve\"(%a, %b) <{left_side = ",
          isLeft ? "true" : "false", ", lower = ", flag(),
          ", unit_diagonal = ", n > 10 ? "false" : flag(), ", transpose_a = #stablehlo<transpose ",
          oneOf<std::string>(random, {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}), ">}> : (", a, ", ",
          b, ") -> ", b, "\n  return %r : ", b, "\n}\n");
      // A unit diagonal does not dominate, so errors grow with each of a few rows.
      const double growth = n > 10 ? double(n) : std::ldexp(1.0, int(n) + 2);
      ASSERT_EQ(difference("stablehlo.triangular_solve", text, random(), Inputs::dense,
                           roundingsOfLargest(static_cast<int64_t>(growth), epsilonOf(element)),
                           dominateDiagonal),
                "");
    }
}

TEST(Expand, ATargetWithALibraryKeepsTheOps) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
      %r = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
      return %r : tensor<3x3xf32>
    })",
                                                        &context);
  EXPECT_EQ(expand(*module, "stablehlo.cholesky", false), "the op is not expanded");
}
