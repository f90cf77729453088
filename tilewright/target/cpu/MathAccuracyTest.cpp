// Measures the error of the functions of MathFunctions.h in ulps. The reference is the C library's
// function of double. README.md states the bounds that are tested here.
//
//   TILEWRIGHT_TEST_STEP=1 CpuMathAccuracyTest     every f32, hours; the default takes one in 8,191
#include "tilewright/support/Concat.h"
#include "tilewright/target/cpu/testing/Kernels.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace tilewright;
using namespace tilewright::cpu;

namespace {

constexpr size_t count = 65536;

/// A kernel that applies one op to 65536 elements.
std::string kernelOf(std::string_view op, int arity) {
  std::string loads, tiles, types, arguments, names, memory;
  for (int i = 0; i < arity; ++i) {
    const char *comma = i ? ", " : "";
    memory += concat("%x", i, ": memref<65536xf32>, ");
    loads +=
        concat("%t", i, " = tile.load %x", i, "[%o] : memref<65536xf32> -> tensor<4096xf32>\n");
    tiles += concat(comma, "%t", i);
    types += concat(comma, "tensor<4096xf32>");
    arguments += concat(comma, "%a", i, ": f32");
    names += concat(comma, "%a", i);
  }
  return concat("tile.kernel @f grid [16] inputs ", arity, " {\n^bb0(%i: index, ", memory,
                "%out: memref<65536xf32>):\n%o = affine.apply affine_map<(i) -> (i * 4096)>(%i)\n",
                loads, "%r = tile.map(", tiles, ") : (", types, ") -> tensor<4096xf32> {\n^bb0(",
                arguments, "):\n%v = ", op, " ", names, " : f32\ntile.yield %v : f32\n}\n",
                "tile.store %r, %out[%o] : tensor<4096xf32>, memref<65536xf32>\n}");
}

/// The distance in ulps of an f32 at `exact`; infinite if the kind is wrong (NaN, infinity, sign).
double ulps(float result, double exact) {
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : HUGE_VAL;
  auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(result))
    // At the overflow threshold, either side counts as one step.
    return rounded == result ? 0
           : std::fabs(exact) < 3.5e38 && std::fabs(exact) > 3.4e38 &&
                   std::signbit(rounded) == std::signbit(result)
               ? 1
               : HUGE_VAL;
  if (exact == 0 || result == 0) {
    if (exact == 0 && result == 0)
      return std::signbit(static_cast<float>(exact)) == std::signbit(result) ? 0 : HUGE_VAL;
  }
  int exponent = std::max(exact == 0 ? -126 : std::ilogb(exact), -126);
  return std::fabs(result - exact) / std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double error = 0;
  float x = 0, y = 0, result = 0;
  double exact = 0;
  void see(float ax, float ay, float r, double e) {
    double distance = ulps(r, e);
    if (distance > error)
      *this = {distance, ax, ay, r, e};
  }
};

struct Unary {
  const char *name, *op;
  double (*exact)(double);
  double bound;
};

// The bounds are those of README.md.
const Unary unaries[] = {
    {"exp", "math.exp", std::exp, 1.0},
    {"exp2", "math.exp2", std::exp2, 0.51},
    {"expm1", "math.expm1", std::expm1, 0.51},
    {"log", "math.log", std::log, 1.0},
    {"log2", "math.log2", std::log2, 0.51},
    {"log10", "math.log10", std::log10, 0.51},
    {"log1p", "math.log1p", std::log1p, 0.51},
    {"tanh", "math.tanh", std::tanh, 1.5},
    {"erf", "math.erf", std::erf, 1.5},
    {"sin", "math.sin", std::sin, 1.0},
    {"cos", "math.cos", std::cos, 1.0},
    {"tan", "math.tan", std::tan, 1.1},
    {"atan", "math.atan", std::atan, 0.51},
    {"asin", "math.asin", std::asin, 0.51},
    {"acos", "math.acos", std::acos, 0.51},
    {"sinh", "math.sinh", std::sinh, 0.51},
    {"cosh", "math.cosh", std::cosh, 0.51},
    {"asinh", "math.asinh", std::asinh, 0.51},
    {"acosh", "math.acosh", std::acosh, 0.51},
    {"atanh", "math.atanh", std::atanh, 0.51},
    {"cbrt", "math.cbrt", std::cbrt, 0.51},
    {"sqrt", "math.sqrt", std::sqrt, 0.5},
    {"rsqrt", "math.rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
};

class Accuracy : public testing::TestWithParam<Unary> {};
INSTANTIATE_TEST_SUITE_P(Functions, Accuracy, testing::ValuesIn(unaries),
                         [](const auto &info) { return info.param.name; });

TEST_P(Accuracy, StaysWithinItsBound) {
  const char *wanted = std::getenv("TILEWRIGHT_TEST_STEP");
  const uint64_t step = wanted ? std::strtoull(wanted, nullptr, 10) : 8191;
  LoadedKernels kernels = LoadedKernels::compile(kernelOf(GetParam().op, 1));
  std::vector<float> memory(2 * count + 32);
  auto *x = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  float *out = x + count;
  Worst worst;
  uint64_t bits = 0;
  while (bits < (uint64_t(1) << 32)) {
    size_t n = 0;
    for (; n < count && bits < (uint64_t(1) << 32); bits += step)
      x[n++] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    // Put special values into every block, independent of the step.
    const float special[] = {0.0f,  -0.0f,  INFINITY, -INFINITY,       NAN,     1.0f,
                             -1.0f, 1e-45f, -1e-45f,  1.17549435e-38f, 3.4e38f, -3.4e38f,
                             0.5f,  88.8f,  -87.5f,   -104.0f};
    for (size_t i = 0; i < std::size(special) && n < count; ++i)
      x[n++] = special[i];
    std::fill(x + n, x + count, 1.0f);
    kernels.run("f", {x, out});
    for (size_t i = 0; i < n; ++i)
      worst.see(x[i], 0, out[i], GetParam().exact(x[i]));
  }
  std::printf("%-8s %.4f ulps at %.9g: %.9g for %.12g\n", GetParam().name, worst.error, worst.x,
              worst.result, worst.exact);
  EXPECT_LE(worst.error, GetParam().bound);
}

/// AVX-512 scales e^r by a power of two with one instruction, other chips in two steps.
TEST(Accuracy, ExpHasTheSameBitsOnChipsWithFma) {
  std::vector<float> memory(3 * count + 32);
  auto *x = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  float *first = x + count, *out = first + count;
  for (size_t i = 0; i < count; ++i)
    x[i] = -110.0f + 205.0f * static_cast<float>(i) / static_cast<float>(count);
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, 3.4e38f, -3.4e38f};
  std::copy(std::begin(special), std::end(special), x);
  bool isFirst = true;
  for (const std::string &name : runnableChips()) {
    const Chip &chip = *chipNamed(name);
    if (!chip.machine().hasFma)
      continue;
    LoadedKernels::compile(kernelOf("math.exp", 1), chip).run("f", {x, isFirst ? first : out});
    for (size_t i = 0; i < count && !isFirst; ++i)
      if (!std::isnan(first[i]) || !std::isnan(out[i]))
        ASSERT_EQ(std::bit_cast<uint32_t>(first[i]), std::bit_cast<uint32_t>(out[i]))
            << name << ", exp(" << x[i] << ")";
    isFirst = false;
  }
}

struct Binary {
  const char *name, *op;
  double (*exact)(double, double);
  double bound;
};
const Binary binaries[] = {{"pow", "math.powf", std::pow, 0.51},
                           {"atan2", "math.atan2", std::atan2, 0.51}};

TEST(Accuracy, OfTwoOperands) {
  for (const Binary &function : binaries) {
    LoadedKernels kernels = LoadedKernels::compile(kernelOf(function.op, 2));
    std::vector<float> memory(3 * count + 32);
    auto *x =
        reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    float *y = x + count, *out = y + count;
    std::mt19937 random(11);
    const float special[] = {0.0f,    -0.0f,    INFINITY, -INFINITY, NAN,   1.0f,      -1.0f,
                             2.0f,    -2.0f,    0.5f,     -0.5f,     3.0f,  -3.0f,     1e-45f,
                             3.4e38f, -3.4e38f, 1e10f,    1.5f,      -2.5f, 16777217.f};
    Worst worst;
    for (int round = 0; round < 16; ++round) {
      for (size_t i = 0; i < count; ++i) {
        if (round == 0) {
          x[i] = special[i % std::size(special)];
          y[i] = special[i / std::size(special) % std::size(special)];
        } else if (round % 2) {
          x[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
          y[i] = std::bit_cast<float>(static_cast<uint32_t>(random()));
        } else {
          x[i] = std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 40));
          y[i] = std::ldexp(static_cast<float>(random()) - 2147483648.0f,
                            -20 - static_cast<int>(random() % 20));
        }
      }
      kernels.run("f", {x, y, out});
      for (size_t i = 0; i < count; ++i)
        worst.see(x[i], y[i], out[i], function.exact(x[i], y[i]));
    }
    std::printf("%-8s %.4f ulps at (%.9g, %.9g): %.9g for %.12g\n", function.name, worst.error,
                worst.x, worst.y, worst.result, worst.exact);
    EXPECT_LE(worst.error, function.bound);
  }
}

} // namespace
