// Runs the functions of complex numbers for machines without a scalar table on this machine, and
// compares them with numerics/scalar, which computes in long double.
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/target/lanes/RegionEmitter.h"
#include "tilewright/target/lanes/testing/CompiledLoop.h"

#include "gtest/gtest.h"

#include "mlir/IR/MLIRContext.h"

#include <cmath>
#include <complex>
#include <random>
#include <span>

using namespace tilewright;
using namespace tilewright::lanes;
using numerics::ElementType;
using numerics::Scalar;
using numerics::ScalarOp;

namespace {

/// One function over arrays of complex numbers.
template <typename T> class Compiled {
public:
  explicit Compiled(ScalarOp op)
      : loop([&](LaneBuilder &b, llvm::Function *body, llvm::Value *i) {
          llvm::Type *real = sizeof(T) == 4 ? b.ir.getFloatTy() : b.ir.getDoubleTy();
          mlir::MLIRContext types;
          mlir::Type part = sizeof(T) == 4 ? mlir::Type(mlir::Float32Type::get(&types))
                                           : mlir::Type(mlir::Float64Type::get(&types));
          auto at = [&](unsigned list, int64_t component) {
            llvm::Value *index = b.ir.CreateAdd(b.ir.CreateShl(i, 1), b.i64(component));
            return b.ir.CreateGEP(real, body->getArg(list), index);
          };
          llvm::SmallVector<Lanes, 2> operands;
          for (unsigned list = 0; list < numerics::arityOf(op); ++list)
            operands.push_back(
                {b.ir.CreateLoad(real, at(list, 0)), b.ir.CreateLoad(real, at(list, 1))});
          std::string_view name = numerics::nameOf(op);
          Lanes result = emitComplexAlone(b, {name.data(), name.size()},
                                          mlir::ComplexType::get(part), operands);
          b.ir.CreateStore(result.value, at(2, 0));
          b.ir.CreateStore(result.imag ? result.imag : b.real(result.value, 0.0), at(2, 1));
        }) {}
  using Numbers = std::vector<std::complex<T>>;
  Numbers operator()(const Numbers &x, const Numbers &y) {
    Numbers out(x.size());
    loop(x.data(), y.data(), out.data(), x.size());
    return out;
  }

private:
  CompiledLoop loop;
};

template <typename T> T ulpOf(T value) {
  using L = std::numeric_limits<T>;
  const int exponent =
      std::max(value == 0 ? L::min_exponent : std::ilogb(value), L::min_exponent - 1);
  return std::ldexp(T(1), exponent - L::digits + 1);
}

/// The distance in ulps of the expected component. A component that nearly cancels is known only to
/// long double's precision of the number, so that distances below 2^-56 of it do not count.
template <typename T> double apart(T got, T expected, double whole) {
  if (std::isnan(got) || std::isnan(expected))
    return std::isnan(got) && std::isnan(expected) ? 0 : HUGE_VAL;
  if (got == expected)
    return 0;
  if (std::isinf(got) || std::isinf(expected))
    return HUGE_VAL;
  const double distance = std::fabs(double(got) - double(expected));
  return distance < whole * 0x1p-56 ? 0 : distance / double(ulpOf(expected));
}

template <typename T>
std::vector<std::complex<T>> numbers(size_t count, unsigned seed, double spread) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> exponent(-spread, spread);
  std::vector<std::complex<T>> result;
  auto part = [&] { return T(normal(random) * std::exp2(exponent(random))); };
  for (size_t i = 0; i < count; ++i)
    result.emplace_back(part(), part());
  return result;
}

constexpr ScalarOp functions[] = {ScalarOp::abs,
                                  ScalarOp::sign,
                                  ScalarOp::divide,
                                  ScalarOp::exponential,
                                  ScalarOp::log,
                                  ScalarOp::sqrt,
                                  ScalarOp::exponentialMinusOne,
                                  ScalarOp::logPlusOne,
                                  ScalarOp::sine,
                                  ScalarOp::rsqrt,
                                  ScalarOp::cosine,
                                  ScalarOp::tan,
                                  ScalarOp::tanh,
                                  ScalarOp::power,
                                  ScalarOp::atan2};

/// The largest distance over pairs of operands.
template <typename T>
double worstOf(ScalarOp op, Compiled<T> &compiled, const std::vector<std::complex<T>> &x,
               const std::vector<std::complex<T>> &y) {
  constexpr ElementType type = sizeof(T) == 4 ? ElementType::c64 : ElementType::c128;
  const numerics::Operation reference = numerics::operationFor(op, type);
  const std::vector<std::complex<T>> out = compiled(x, y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Scalar expected = reference(Scalar::ofComplex(x[i]), Scalar::ofComplex(y[i]), {});
    const T re = T(expected.r), im = op == ScalarOp::abs ? T(0) : T(expected.im);
    const double whole = std::hypot(double(re), double(im));
    const double error = std::max(apart(out[i].real(), re, whole), apart(out[i].imag(), im, whole));
    if (error > worst) {
      worst = error;
      std::printf(
          "%s of (%.9g, %.9g), (%.9g, %.9g): (%.17g, %.17g) for (%.17g, %.17g), %.2f ulps\n",
          std::string(numerics::nameOf(op)).c_str(), double(x[i].real()), double(x[i].imag()),
          double(y[i].real()), double(y[i].imag()), double(out[i].real()), double(out[i].imag()),
          double(re), double(im), error);
    }
  }
  return worst;
}

template <typename T> void expectNear(double bound) {
  for (ScalarOp op : functions) {
    Compiled<T> compiled(op);
    // Of large powers, long double has no more digits than f64.
    for (double spread : {1.0, op == ScalarOp::power ? 3.0 : 6.0}) {
      auto x = numbers<T>(5000, 1, spread), y = numbers<T>(5000, 2, spread);
      EXPECT_LE(worstOf<T>(op, compiled, x, y), bound) << numerics::nameOf(op);
    }
  }
}
TEST(ComplexAlone, FunctionsOfDoubleAreThoseOfTheScalarTable) { expectNear<double>(1); }
TEST(ComplexAlone, FunctionsOfSingleAreThoseOfTheScalarTable) { expectNear<float>(1); }

/// Zeros, infinities and NaN in both parts. Not of atan2: there signs of zeros decide on the side
/// of a branch cut, and they depend on the order of the steps.
TEST(ComplexAlone, SpecialValuesAreThoseOfTheScalarTable) {
  const double values[] = {0.0, 1.0, -1.5, -0.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
  for (ScalarOp op : functions) {
    const size_t count = op == ScalarOp::atan2 ? 3 : std::size(values);
    std::vector<std::complex<double>> all, x, y;
    for (double re : std::span(values).first(count))
      for (double im : std::span(values).first(count))
        all.emplace_back(re, im);
    for (std::complex<double> first : all)
      for (std::complex<double> second : all)
        x.push_back(first), y.push_back(second);
    Compiled<double> compiled(op);
    EXPECT_LE(worstOf<double>(op, compiled, x, y), 1) << numerics::nameOf(op);
  }
}

/// Numbers whose squares leave the range of f64.
TEST(ComplexAlone, HugeAndTinyNumbersAreScaled) {
  auto x = numbers<double>(5000, 3, 1000), y = numbers<double>(5000, 4, 1000);
  for (ScalarOp op : {ScalarOp::abs, ScalarOp::sign, ScalarOp::divide, ScalarOp::log,
                      ScalarOp::sqrt, ScalarOp::rsqrt}) {
    Compiled<double> compiled(op);
    EXPECT_LE(worstOf<double>(op, compiled, x, y), 1) << numerics::nameOf(op);
  }
}

} // namespace
