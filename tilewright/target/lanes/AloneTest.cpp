// Runs the functions for machines without a C library on this machine, and compares them with the C
// library's functions of long double. README.md states the bounds that are tested here.
#include "tilewright/target/lanes/MathFunctions.h"
#include "tilewright/target/lanes/testing/CompiledLoop.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace tilewright;
using namespace tilewright::lanes;

namespace {

/// One function of two operands, of which it may ignore one, over arrays.
template <typename T> class Compiled {
public:
  explicit Compiled(MathFunction function, bool isBinary = false)
      : loop([&](LaneBuilder &b, llvm::Function *body, llvm::Value *i) {
          llvm::Type *element = sizeof(T) == 4 ? b.ir.getFloatTy() : b.ir.getDoubleTy();
          auto at = [&](unsigned list) { return b.ir.CreateGEP(element, body->getArg(list), i); };
          llvm::SmallVector<llvm::Value *, 2> operands = {b.ir.CreateLoad(element, at(0))};
          if (isBinary)
            operands.push_back(b.ir.CreateLoad(element, at(1)));
          b.ir.CreateStore(function(b, operands), at(2));
        }) {}
  std::vector<T> operator()(const std::vector<T> &x, const std::vector<T> &y = {}) {
    std::vector<T> out(x.size());
    loop(x.data(), y.data(), out.data(), x.size());
    return out;
  }

private:
  CompiledLoop loop;
};

template <typename T> double ulps(T result, long double exact) {
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : HUGE_VAL;
  T rounded = static_cast<T>(exact);
  if (rounded == result)
    return std::signbit(rounded) == std::signbit(result) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) != std::isinf(result))
    // At the overflow threshold, either side counts as one step.
    return std::fabs(std::isinf(result) ? rounded : result) == std::numeric_limits<T>::max()
               ? 1
               : HUGE_VAL;
  constexpr int least = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(exact == 0 ? least : std::ilogb(exact), least);
  const int digits = std::numeric_limits<T>::digits - 1;
  return double(std::fabs(result - exact) / std::ldexp(1.0L, exponent - digits));
}

/// All kinds of numbers: bit patterns, a usual range, and special values.
template <typename T> std::vector<T> numbers(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (size_t i = 0; i < count; ++i)
    switch (i % 4) {
    case 0:
      result.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
      break;
    case 1:
      result.push_back(T(std::ldexp(double(random() >> 12) - 0x1p51, -int(random() % 70) - 20)));
      break;
    case 2:
      result.push_back(T(double(random() % 200001) / 100 - 1000));
      break;
    default:
      result.push_back(
          T(1 + std::ldexp(double(random() >> 12) - 0x1p51, -int(52 + random() % 30))));
    }
  using L = std::numeric_limits<T>;
  for (T special :
       {T(0),      -T(0),     L::infinity(), -L::infinity(), L::quiet_NaN(),  T(1),
        -T(1),     T(2),      L::min(),      -L::min(),      L::denorm_min(), -L::denorm_min(),
        L::max(),  -L::max(), T(8),          T(27),          T(0.5),          T(-0.5),
        T(709.78), T(-745.1), T(-708.5),     T(88.7)})
    result.push_back(special);
  return result;
}

struct Case {
  const char *name;
  MathFunction *function;
  long double (*exact)(long double);
  double bound;
};

constexpr size_t samples = 400000;

template <typename T> void expectWithin(const Case &wanted) {
  Compiled<T> compiled(wanted.function);
  std::vector<T> x = numbers<T>(samples, 5), out = compiled(x);
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (double error = ulps<T>(out[i], wanted.exact(x[i])); error > worst)
      worst = error, at = x[i];
  std::printf("%-6s f%d %.4f ulps at %.17g\n", wanted.name, int(sizeof(T) * 8), worst, double(at));
  EXPECT_LE(worst, wanted.bound) << wanted.name;
}

TEST(Alone, FunctionsOfDoubleStayWithinTheirBounds) {
  const Case cases[] = {{"exp", emitExp, expl, 1.0},        {"exp2", emitExp2, exp2l, 1.1},
                        {"expm1", emitExpm1, expm1l, 1.8},  {"log", emitLog, logl, 0.9},
                        {"log2", emitLog2, log2l, 2.0},     {"log10", emitLog10, log10l, 2.0},
                        {"log1p", emitLog1p, log1pl, 1.5},  {"tanh", emitTanh, tanhl, 2.5},
                        {"cbrt", emitCbrt, cbrtl, 0.7},     {"sin", emitSin, sinl, 0.51},
                        {"cos", emitCos, cosl, 0.51},       {"tan", emitTan, tanl, 0.51},
                        {"atan", emitAtan, atanl, 0.51},    {"asin", emitAsin, asinl, 0.51},
                        {"acos", emitAcos, acosl, 0.51},    {"sinh", emitSinh, sinhl, 0.51},
                        {"cosh", emitCosh, coshl, 0.51},    {"asinh", emitAsinh, asinhl, 0.51},
                        {"acosh", emitAcosh, acoshl, 0.51}, {"atanh", emitAtanh, atanhl, 0.51},
                        {"erf", emitErf, erfl, 1.0},        {"erfc", emitErfc, erfcl, 1.5}};
  for (const Case &wanted : cases)
    expectWithin<double>(wanted);
}

TEST(Alone, FunctionsOfSingleStayWithinTheirBounds) {
  const Case cases[] = {{"erfc", emitErfc, erfcl, 0.51},
                        {"sin", emitSin, sinl, 0.57},
                        {"cos", emitCos, cosl, 0.57},
                        {"tan", emitTan, tanl, 1.08}};
  for (const Case &wanted : cases)
    expectWithin<float>(wanted);
}

/// Angles that need the long product, including the worst case of f32.
TEST(Alone, FarAnglesAreReduced) {
  std::mt19937 random(3);
  std::vector<float> x = {16367173.0f * 0x1p72f, 0x1p127f, -0x1.fffffep127f, 1048577.0f};
  for (int i = 0; i < 200000; ++i)
    x.push_back(std::ldexp(float(random()), int(random() % 95) - 10));
  std::vector<float> out = Compiled<float>(emitSin)(x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps<float>(out[i], sinl(x[i])), 0.57) << x[i];
}

template <typename T> void expectRemainders() {
  std::vector<T> x = numbers<T>(samples, 7), y = numbers<T>(samples, 8);
  std::reverse(y.begin(), y.end());
  std::vector<T> out = Compiled<T>(emitRemainder, true)(x, y);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(ulps<T>(out[i], std::fmod(x[i], y[i])), 0) << x[i] << " by " << y[i];
}
TEST(Alone, RemaindersAreExact) {
  expectRemainders<float>();
  expectRemainders<double>();
}

/// Two operands that are unrelated, near each other, and small integers.
std::pair<std::vector<double>, std::vector<double>> operandPairs() {
  std::vector<double> x = numbers<double>(samples, 9), y = numbers<double>(samples, 10);
  std::mt19937_64 random(4);
  std::shuffle(y.begin(), y.end(), random);
  for (size_t i = 0; i < x.size(); i += 3)
    y[i] = double(int(random() % 41) - 20) / double(1 << random() % 3);
  for (size_t i = 1; i < x.size(); i += 5)
    x[i] = 1 + double(int(random() % 2001) - 1000) / 1024.0;
  return {std::move(x), std::move(y)};
}

TEST(Alone, FunctionsOfTwoDoublesStayWithinTheirBounds) {
  const auto [x, y] = operandPairs();
  const std::tuple<const char *, MathFunction *, long double (*)(long double, long double)>
      cases[] = {{"pow", emitPow, powl}, {"atan2", emitAtan2, atan2l}};
  for (const auto &[name, function, exact] : cases) {
    std::vector<double> out = Compiled<double>(function, true)(x, y);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      // StableHLO's power of NaN is NaN except for the exponent 0, as the C library's.
      const double error = ulps<double>(out[i], exact(x[i], y[i]));
      if (error > worst) {
        worst = error;
        std::printf("%s(%.17g, %.17g): %.4f ulps\n", name, x[i], y[i], worst);
      }
    }
    EXPECT_LE(worst, 0.75) << name; // subnormal results are rounded twice
  }
}

/// Angles of every magnitude, including the one of f64 that is nearest to a multiple of π/2.
TEST(Alone, FarAnglesOfDoubleAreReduced) {
  std::mt19937_64 random(3);
  std::vector<double> x = {6381956970095103.0 * 0x1p797, 0x1p1023, -0x1.fffffffffffffp1023,
                           1048577.0, 5.319372648326541e255};
  for (int i = 0; i < 100000; ++i)
    x.push_back(std::ldexp(double(random() >> 11), int(random() % 1000) - 33));
  std::vector<double> out = Compiled<double>(emitCos)(x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps<double>(out[i], cosl(x[i])), 0.51) << x[i];
}

} // namespace
