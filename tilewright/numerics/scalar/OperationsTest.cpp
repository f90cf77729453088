#include "tilewright/numerics/scalar/Operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tilewright::numerics;
using T = ElementType;

static constexpr double infinite = std::numeric_limits<double>::infinity();
static constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();

static Scalar apply(ScalarOp op, T type, Scalar a, Scalar b = {}, Scalar c = {}) {
  Operation operation = operationFor(op, type);
  EXPECT_NE(operation, nullptr) << nameOf(op);
  return operation(a, b, c);
}
static double real(ScalarOp op, T type, double a, double b = 0, double c = 0) {
  return apply(op, type, Scalar::ofReal(a), Scalar::ofReal(b), Scalar::ofReal(c)).r;
}
static int64_t integer(ScalarOp op, T type, int64_t a, int64_t b = 0, int64_t c = 0) {
  return apply(op, type, Scalar::ofSigned(a), Scalar::ofSigned(b), Scalar::ofSigned(c)).i;
}
static std::complex<double> complex(ScalarOp op, T type, std::complex<double> a,
                                    std::complex<double> b = {}) {
  return apply(op, type, Scalar::ofComplex(a), Scalar::ofComplex(b)).complex();
}
static Scalar convert(T from, T to, Scalar value) {
  return operationFor(ScalarOp::convert, from, to)(value, value, value);
}

TEST(Real, RoundsOnceToTheType) {
  EXPECT_EQ(real(ScalarOp::add, T::f32, 1, 0x1p-24), 1);
  EXPECT_EQ(real(ScalarOp::add, T::f32, 1, 0x1.8p-24), 1 + 0x1p-23);
  EXPECT_EQ(real(ScalarOp::multiply, T::bf16, 255, 255), 65024);
  EXPECT_EQ(real(ScalarOp::add, T::f16, 65504, 32), infinite);
  EXPECT_EQ(real(ScalarOp::divide, T::f64, 1, 3), 1.0 / 3.0);
}

TEST(Real, MaximumAndMinimumPropagateNanAndOrderZeros) {
  EXPECT_TRUE(std::isnan(real(ScalarOp::maximum, T::f32, quietNan, 1)));
  EXPECT_TRUE(std::isnan(real(ScalarOp::minimum, T::f32, 1, quietNan)));
  EXPECT_FALSE(std::signbit(real(ScalarOp::maximum, T::f32, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(real(ScalarOp::minimum, T::f32, 0.0, -0.0)));
}

TEST(Real, RemainderHasTheSignOfTheDividend) {
  EXPECT_EQ(real(ScalarOp::remainder, T::f32, -7, 3), -1);
  EXPECT_EQ(real(ScalarOp::remainder, T::f32, 7, -3), 1);
  EXPECT_TRUE(std::isnan(real(ScalarOp::remainder, T::f32, 7, 0)));
}

TEST(Real, SignKeepsZerosAndNan) {
  EXPECT_TRUE(std::signbit(real(ScalarOp::sign, T::f32, -0.0)));
  EXPECT_TRUE(std::isnan(real(ScalarOp::sign, T::f32, quietNan)));
  EXPECT_EQ(real(ScalarOp::sign, T::f32, -infinite), -1);
}

TEST(Real, RoundingDirections) {
  EXPECT_EQ(real(ScalarOp::roundNearestAfz, T::f32, 2.5), 3);
  EXPECT_EQ(real(ScalarOp::roundNearestEven, T::f32, 2.5), 2);
  EXPECT_EQ(real(ScalarOp::roundNearestAfz, T::f32, -0.5), -1);
}

TEST(Real, TotalOrderPlacesNanOutsideAndSeparatesZeros) {
  auto below = [](double a, double b) {
    return apply(ScalarOp::totalOrderLt, T::f32, Scalar::ofReal(a), Scalar::ofReal(b)).u == 1;
  };
  EXPECT_TRUE(below(-quietNan, -infinite));
  EXPECT_TRUE(below(-0.0, 0.0));
  EXPECT_TRUE(below(infinite, quietNan));
  EXPECT_EQ(
      apply(ScalarOp::totalOrderEq, T::f32, Scalar::ofReal(quietNan), Scalar::ofReal(quietNan)).u,
      1u);
  EXPECT_EQ(
      apply(ScalarOp::compareEq, T::f32, Scalar::ofReal(quietNan), Scalar::ofReal(quietNan)).u, 0u);
  EXPECT_EQ(
      apply(ScalarOp::compareNe, T::f32, Scalar::ofReal(quietNan), Scalar::ofReal(quietNan)).u, 1u);
}

TEST(Real, ReducePrecisionRoundsOverflowsAndFlushes) {
  auto reduce = [](double value, uint64_t exponent, uint64_t mantissa) {
    return apply(ScalarOp::reducePrecision, T::f32, Scalar::ofReal(value),
                 Scalar::ofUnsigned(exponent), Scalar::ofUnsigned(mantissa))
        .r;
  };
  EXPECT_EQ(reduce(1 + 0x1p-8, 8, 7), 1);            // a tie, to even
  EXPECT_EQ(reduce(1 + 0x1.8p-7, 8, 7), 1 + 0x1p-6); // a tie, to even
  EXPECT_EQ(reduce(65520, 5, 10), infinite);
  EXPECT_EQ(reduce(-0x1p-15, 5, 10), 0); // f16 represents it only as a subnormal
  EXPECT_TRUE(std::signbit(reduce(-0x1p-15, 5, 10)));
  EXPECT_TRUE(std::isnan(reduce(quietNan, 2, 0)));
}

TEST(Real, ReducePrecisionStaysInFormatsWithoutInfinityOrMinusZero) {
  auto reduce = [](T type, double value, uint64_t exponent, uint64_t mantissa) {
    return apply(ScalarOp::reducePrecision, type, Scalar::ofReal(value),
                 Scalar::ofUnsigned(exponent), Scalar::ofUnsigned(mantissa))
        .r;
  };
  EXPECT_EQ(reduce(T::f8E4M3FN, 448, 4, 1), 448); // rounding up would be NaN, or carry to the sign
  EXPECT_EQ(reduce(T::f8E4M3FN, -448, 3, 3), -448); // the largest number for an overflow
  EXPECT_EQ(reduce(T::f4E2M1FN, 6, 2, 0), 6);
  EXPECT_EQ(reduce(T::f8E4M3FNUZ, -0x1p-9, 2, 3), 0); // -0 would be NaN
  EXPECT_EQ(reduce(T::f8E5M2, 57344, 5, 1), infinite);
}

TEST(Integer, WrapsAtItsWidth) {
  EXPECT_EQ(integer(ScalarOp::add, T::i8, 127, 1), -128);
  EXPECT_EQ(integer(ScalarOp::multiply, T::ui4, 5, 5), 9);
  EXPECT_EQ(integer(ScalarOp::negate, T::i2, -2), -2);
  EXPECT_EQ(integer(ScalarOp::abs, T::i64, std::numeric_limits<int64_t>::min()),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer(ScalarOp::negate, T::ui8, 1), 255);
}

TEST(Integer, DivisionHasNoUndefinedCase) {
  EXPECT_EQ(integer(ScalarOp::divide, T::i32, 7, 0), -1);
  EXPECT_EQ(integer(ScalarOp::divide, T::ui8, 7, 0), 255);
  EXPECT_EQ(integer(ScalarOp::divide, T::i32, std::numeric_limits<int32_t>::min(), -1),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(integer(ScalarOp::divide, T::i64, std::numeric_limits<int64_t>::min(), -1),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer(ScalarOp::remainder, T::i32, 7, 0), 7);
  EXPECT_EQ(integer(ScalarOp::remainder, T::i64, std::numeric_limits<int64_t>::min(), -1), 0);
  EXPECT_EQ(integer(ScalarOp::remainder, T::i32, -7, 3), -1);
  EXPECT_EQ(integer(ScalarOp::divide, T::i32, -7, 2), -3);
}

TEST(Integer, ShiftsByTheWidthOrMoreMoveEverythingOut) {
  EXPECT_EQ(integer(ScalarOp::shiftLeft, T::i8, 1, 8), 0);
  EXPECT_EQ(integer(ScalarOp::shiftLeft, T::i8, 1, -1), 0);
  EXPECT_EQ(integer(ScalarOp::shiftRightLogical, T::i8, -1, 7), 1);
  EXPECT_EQ(integer(ScalarOp::shiftRightLogical, T::i8, -1, 8), 0);
  EXPECT_EQ(integer(ScalarOp::shiftRightArithmetic, T::i8, -1, 100), -1);
  EXPECT_EQ(integer(ScalarOp::shiftRightArithmetic, T::ui8, 0x80, 4), 0xf8);
}

TEST(Integer, PowerOfNegativeExponentTruncates) {
  EXPECT_EQ(integer(ScalarOp::power, T::i32, 3, 4), 81);
  EXPECT_EQ(integer(ScalarOp::power, T::i32, 2, -1), 0);
  EXPECT_EQ(integer(ScalarOp::power, T::i32, -1, -3), -1);
  EXPECT_EQ(integer(ScalarOp::power, T::i32, 0, 0), 1);
}

TEST(Integer, CountsBitsOfItsOwnWidth) {
  EXPECT_EQ(integer(ScalarOp::popcnt, T::i8, -1), 8);
  EXPECT_EQ(integer(ScalarOp::countLeadingZeros, T::i16, 1), 15);
  EXPECT_EQ(integer(ScalarOp::countLeadingZeros, T::i64, 0), 64);
}

TEST(Boolean, IsANumberOfOneBit) {
  EXPECT_EQ(integer(ScalarOp::add, T::pred, 1, 1), 1);
  EXPECT_EQ(integer(ScalarOp::multiply, T::pred, 1, 0), 0);
  EXPECT_EQ(integer(ScalarOp::bitNot, T::pred, 1), 0);
  EXPECT_EQ(operationFor(ScalarOp::divide, T::pred), nullptr);
}

TEST(Complex, Values) {
  EXPECT_EQ(complex(ScalarOp::multiply, T::c64, {1, 2}, {3, 4}), std::complex<double>(-5, 10));
  EXPECT_EQ(complex(ScalarOp::divide, T::c128, {-5, 10}, {3, 4}), std::complex<double>(1, 2));
  EXPECT_EQ(real(ScalarOp::abs, T::c64, 3), 3);
  EXPECT_EQ(complex(ScalarOp::power, T::c64, {0, 0}, {0, 0}), std::complex<double>(1, 0));
  const std::complex<double> tiny(1e-30, 1e-30);
  EXPECT_EQ(complex(ScalarOp::exponentialMinusOne, T::c128, tiny), tiny);
  EXPECT_EQ(complex(ScalarOp::logPlusOne, T::c128, tiny), tiny);
  EXPECT_EQ(complex(ScalarOp::maximum, T::c64, {1, 5}, {1, 6}), std::complex<double>(1, 6));
}

TEST(Complex, DivisionByZeroIsInfinite) {
  EXPECT_TRUE(std::isinf(complex(ScalarOp::divide, T::c64, {1, 0}, {0, 0}).real()));
}

TEST(Convert, RoundsIntegersOnce) {
  // 2^53 + 2^29 + 1 would become a tie in double, and the tie would round to even.
  const int64_t value = (int64_t(1) << 53) + (int64_t(1) << 29) + 1;
  EXPECT_EQ(convert(T::i64, T::f32, Scalar::ofSigned(value)).r, static_cast<float>(value));
  EXPECT_EQ(convert(T::ui64, T::f64, Scalar::ofUnsigned(~uint64_t(0))).r, 0x1p64);
}

TEST(Convert, SaturatesRealsAndWrapsIntegers) {
  EXPECT_EQ(convert(T::f32, T::i8, Scalar::ofReal(1000)).i, 127);
  EXPECT_EQ(convert(T::f32, T::ui8, Scalar::ofReal(-5)).u, 0u);
  EXPECT_EQ(convert(T::f32, T::i32, Scalar::ofReal(quietNan)).i, 0);
  EXPECT_EQ(convert(T::f32, T::i32, Scalar::ofReal(-1.9)).i, -1);
  EXPECT_EQ(convert(T::i32, T::i8, Scalar::ofSigned(300)).i, 44);
  EXPECT_EQ(convert(T::i8, T::ui16, Scalar::ofSigned(-1)).u, 0xffffu);
}

TEST(Convert, ToPredIsWhetherNotZero) {
  EXPECT_EQ(convert(T::f32, T::pred, Scalar::ofReal(quietNan)).u, 1u);
  EXPECT_EQ(convert(T::i32, T::pred, Scalar::ofSigned(2)).u, 1u);
  // The imaginary part is dropped first, as for every target that is not complex.
  EXPECT_EQ(convert(T::c64, T::pred, Scalar::ofComplex({0, 1})).u, 0u);
  EXPECT_EQ(convert(T::c64, T::pred, Scalar::ofComplex({1, 0})).u, 1u);
  EXPECT_EQ(convert(T::f32, T::pred, Scalar::ofReal(-0.0)).u, 0u);
}

TEST(Bits, GoBothWays) {
  EXPECT_EQ(apply(ScalarOp::toBits, T::bf16, Scalar::ofReal(1)).u, 0x3f80u);
  EXPECT_EQ(
      operationFor(ScalarOp::fromBits, T::ui32, T::f32)(Scalar::ofUnsigned(0x40490fdb), {}, {}).r,
      static_cast<float>(M_PI));
  EXPECT_EQ(apply(ScalarOp::toBits, T::i8, Scalar::ofSigned(-1)).u, 0xffu);
}
