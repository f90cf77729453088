#include "tilewright/numerics/Float.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

namespace tilewright::vgpu::machine {
namespace {

using numerics::ElementType;

/// Random bits mixed with many special values.
template <typename T> std::vector<T> samples(size_t count, unsigned seed, std::vector<T> special) {
  std::mt19937_64 random(seed);
  std::vector<T> result(count);
  for (T &value : result)
    value = random() % 3 == 0 ? special[random() % special.size()] : static_cast<T>(random());
  return result;
}
std::vector<uint32_t> words(unsigned seed) {
  return samples<uint32_t>(512, seed, {0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff});
}
std::vector<uint32_t> floats(unsigned seed) {
  return samples<uint32_t>(2048, seed,
                           {0, 0x80000000, 1, 0x007fffff, 0x00800000, 0x80800001, 0x3f800000,
                            0x3f800001, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x34000000,
                            0x33800000, 0xbf800000, 0x4b000001});
}
float f(uint32_t bits) { return std::bit_cast<float>(bits); }

/// Expects both to be NaN, or the same bits.
void expectSame(uint32_t got, float expected, const std::string &what) {
  if (std::isnan(expected))
    EXPECT_EQ(got, 0x7fffffffu) << what;
  else
    EXPECT_EQ(got, std::bit_cast<uint32_t>(expected))
        << what << " got " << f(got) << " expected " << expected;
}

struct IntegerCase {
  const char *instruction;
  uint32_t (*expected)(uint32_t, uint32_t, uint32_t);
};
class Integers : public ::testing::TestWithParam<IntegerCase> {};
TEST_P(Integers, AreAsPtxSays) {
  const std::vector<uint32_t> a = words(1), b = words(2), c = words(3);
  const auto got = evaluate<uint32_t, uint32_t>("b32", "b32", GetParam().instruction, a, b, c);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(got[i], GetParam().expected(a[i], b[i], c[i]))
        << GetParam().instruction << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
}
int32_t s(uint32_t x) { return static_cast<int32_t>(x); }
INSTANTIATE_TEST_SUITE_P(All, Integers,
                         ::testing::
                             Values(
                                 IntegerCase{"add.u32 %d, %a, %b;", [](uint32_t a, uint32_t b,
                                                                       uint32_t) { return a + b; }},
                                 IntegerCase{"add.sat.s32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return uint32_t(std::clamp<int64_t>(
                                                   int64_t(s(a)) + s(b), INT32_MIN, INT32_MAX));
                                             }},
                                 IntegerCase{"sub.s32 %d, %a, %b;", [](uint32_t a, uint32_t b,
                                                                       uint32_t) { return a - b; }},
                                 IntegerCase{"mul.hi.s32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return uint32_t(int64_t(s(a)) * s(b) >> 32);
                                             }},
                                 IntegerCase{
                                     "mad.lo.u32 %d, %a, %b, %c;",
                                     [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }},
                                 IntegerCase{"div.s32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return b == 0 ? ~0u : uint32_t(int64_t(s(a)) / s(b));
                                             }},
                                 IntegerCase{"rem.u32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return b == 0 ? a : a % b;
                                             }},
                                 IntegerCase{"shl.b32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return b > 31 ? 0 : a << b;
                                             }},
                                 IntegerCase{"shr.s32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return uint32_t(s(a) >> std::min(b, 31u));
                                             }},
                                 IntegerCase{
                                     "lop3.b32 %d, %a, %b, %c, 0x96;",
                                     [](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }},
                                 IntegerCase{"shf.r.wrap.b32 %d, %a, %b, %c;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               return uint32_t((uint64_t(b) << 32 | a) >> (c & 31));
                                             }},
                                 IntegerCase{"shf.l.clamp.b32 %d, %a, %b, %c;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               return uint32_t((uint64_t(b) << 32 | a)
                                                                   << std::min(c, 32u) >>
                                                               32);
                                             }},
                                 IntegerCase{"prmt.b32 %d, %a, %b, %c;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               uint32_t result = 0;
                                               for (int i = 0; i < 4; ++i) {
                                                 const uint32_t selector = c >> (4 * i) & 15;
                                                 uint32_t byte = uint32_t((uint64_t(b) << 32 | a) >>
                                                                          (8 * (selector & 7)));
                                                 byte = selector & 8 ? (byte & 0x80 ? 0xff : 0)
                                                                     : byte & 0xff;
                                                 result |= byte << (8 * i);
                                               }
                                               return result;
                                             }},
                                 IntegerCase{"bfe.s32 %d, %a, 5, 9;",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               return uint32_t(s(a << 18) >> 23);
                                             }},
                                 IntegerCase{
                                     "bfi.b32 %d, %a, %b, 4, 8;",
                                     [](uint32_t a, uint32_t b, uint32_t) {
                                       return (b & ~0xff0u) | (a << 4 & 0xff0u);
                                     }},
                                 IntegerCase{"dp4a.s32.u32 %d, %a, %b, %c;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               for (int i = 0; i < 32; i += 8)
                                                 c += uint32_t(int32_t(int8_t(a >> i)) *
                                                               int32_t(uint8_t(b >> i)));
                                               return c;
                                             }},
                                 IntegerCase{"popc.b32 %d, %a;",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               return uint32_t(std::popcount(a));
                                             }},
                                 IntegerCase{"bfind.s32 %d, %a;",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               const uint32_t x = s(a) < 0 ? ~a : a;
                                               return x ? 31u - uint32_t(std::countl_zero(x)) : ~0u;
                                             }},
                                 IntegerCase{"add.cc.u32 %x0, %a, %b;\naddc.u32 %d, %c, 0;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               return c + uint32_t((uint64_t(a) + b) >> 32);
                                             }},
                                 IntegerCase{"sub.cc.u32 %x0, %a, %b;\nsubc.u32 %d, %c, 0;",
                                             [](uint32_t a, uint32_t b, uint32_t c) {
                                               return c - (a < b);
                                             }},
                                 IntegerCase{"setp.lt.s32 %p0, %a, %b;\n@%p0 mov.b32 %d, "
                                             "%a;\n@!%p0 mov.b32 %d, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return s(a) < s(b) ? a : b;
                                             }},
                                 IntegerCase{"setp.ge.and.u32 %p0|%p1, %a, %b, %p2;\nselp.b32 %d, "
                                             "1, 2, %p0;",
                                             [](uint32_t, uint32_t, uint32_t) { return 2u; }},
                                 IntegerCase{"set.gt.u32.s32 %d, %a, %b;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return s(a) > s(b) ? ~0u : 0;
                                             }},
                                 IntegerCase{"mov.b32 {%h0, %h1}, %a;\nmov.b32 %d, {%h1, %h0};",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               return a << 16 | a >> 16;
                                             }},
                                 IntegerCase{"cvt.s8.s32 %h0, %a;\ncvt.s32.s8 %d, %h0;",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               return uint32_t(int32_t(int8_t(a)));
                                             }},
                                 IntegerCase{"cvt.sat.u8.s32 %d, %a;",
                                             [](uint32_t a, uint32_t, uint32_t) {
                                               return uint32_t(std::clamp(s(a), 0, 255));
                                             }},
                                 IntegerCase{"mul.wide.u32 %y0, %a, %b;\nmov.b64 {%x0, %d}, %y0;",
                                             [](uint32_t a, uint32_t b, uint32_t) {
                                               return uint32_t(uint64_t(a) * b >> 32);
                                             }}));

/// The host computes the same in its own rounding modes.
#pragma STDC FENV_ACCESS ON
float hostUnder(int mode, char op, float x, float y, float z) {
  volatile float a = x, b = y, c = z;
  std::fesetround(mode);
  volatile float result = op == '+'   ? a + b
                          : op == '-' ? a - b
                          : op == '*' ? a * b
                          : op == '/' ? a / b
                          : op == 's' ? std::sqrt(a)
                                      : std::fma(a, b, c);
  std::fesetround(FE_TONEAREST);
  return result;
}

TEST(Floats, EveryRoundingIsExact) {
  const std::vector<uint32_t> a = floats(1), b = floats(2), c = floats(3);
  const std::pair<const char *, int> modes[] = {
      {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  const std::pair<const char *, char> operations[] = {{"add", '+'}, {"sub", '-'},  {"mul", '*'},
                                                      {"div", '/'}, {"sqrt", 's'}, {"fma", 'f'}};
  for (auto [mode, host] : modes)
    for (auto [name, op] : operations) {
      const std::string instruction = std::string(name) + "." + mode + ".f32 %d, %a" +
                                      (op == 's' ? "" : ", %b") + (op == 'f' ? ", %c;" : ";");
      const auto got = evaluate<uint32_t, uint32_t>("f32", "f32", instruction, a, b, c);
      for (size_t i = 0; i < a.size(); ++i)
        expectSame(got[i], hostUnder(host, op, f(a[i]), f(b[i]), f(c[i])),
                   instruction + " " + std::to_string(f(a[i])) + " " + std::to_string(f(b[i])));
    }
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

TEST(Floats, FtzFlushesBothEndsAndSatClamps) {
  const std::vector<uint32_t> a = floats(4), b = floats(5);
  auto got = evaluate<uint32_t, uint32_t>("f32", "f32", "mul.ftz.f32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    expectSame(got[i], flushed(flushed(f(a[i])) * flushed(f(b[i]))), "mul.ftz");
  got = evaluate<uint32_t, uint32_t>("f32", "f32", "add.sat.f32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    const float sum = f(a[i]) + f(b[i]);
    EXPECT_EQ(f(got[i]), std::isnan(sum) || sum < 0 ? 0.0f : std::min(sum, 1.0f));
  }
}

TEST(Floats, MinimumTakesTheNumberAndMinusZero) {
  const std::vector<uint32_t> a = {0, 0x80000000, 0x7fc00000, 0x3f800000, 0x7fc00001, 0xc0000000};
  const std::vector<uint32_t> b = {0x80000000, 0, 0x40000000, 0x7fc00000, 0xffc00000, 0x3f800000};
  const auto least = evaluate<uint32_t, uint32_t>("f32", "f32", "min.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(least, (std::vector<uint32_t>{0x80000000, 0x80000000, 0x40000000, 0x3f800000,
                                          0x7fffffff, 0xc0000000}));
  const auto most = evaluate<uint32_t, uint32_t>("f32", "f32", "max.NaN.f32 %d, %a, %b;", a, b);
  EXPECT_EQ(most, (std::vector<uint32_t>{0, 0, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x3f800000}));
}

TEST(Floats, ExtremeOfThreeIsThatOfTwoTwice) {
  const std::vector<uint32_t> a = floats(1), b = floats(2), c = floats(3);
  for (const std::string name : {"min", "max", "min.NaN", "max.ftz"}) {
    const auto two = evaluate<uint32_t, uint32_t>("f32", "f32", name + ".f32 %d, %a, %b;", a, b);
    const auto expected =
        evaluate<uint32_t, uint32_t>("f32", "f32", name + ".f32 %d, %a, %b;", two, c);
    const auto got = evaluate<uint32_t, uint32_t>("f32", "f32", name + ".f32 %d, %a, %b, %c;", a, b,
                                                  c, "sm_100a", "sm_100a");
    EXPECT_EQ(got, expected) << name;
  }
}
TEST(Floats, ComparisonsWithNanAreOrderedOrNot) {
  const std::vector<uint32_t> a = {0x3f800000, 0x7fc00000, 0x40000000};
  const std::vector<uint32_t> b = {0x40000000, 0x3f800000, 0x40000000};
  auto holds = [&](const std::string &compare) {
    return evaluate<uint32_t, uint32_t>(
        "f32", "b32", "setp." + compare + ".f32 %p0, %a, %b;\nselp.b32 %d, 1, 0, %p0;", a, b);
  };
  using V = std::vector<uint32_t>;
  EXPECT_EQ(holds("lt"), (V{1, 0, 0}));
  EXPECT_EQ(holds("ltu"), (V{1, 1, 0}));
  EXPECT_EQ(holds("ne"), (V{1, 0, 0}));
  EXPECT_EQ(holds("neu"), (V{1, 1, 0}));
  EXPECT_EQ(holds("geu"), (V{0, 1, 1}));
  EXPECT_EQ(holds("nan"), (V{0, 1, 0}));
}

/// 2 ulp, as the machine's README says.
TEST(Floats, Ex2IsCloseEverywhere) {
  std::vector<uint32_t> a;
  for (float x = -150; x < 127.9f; x += 0.00731f)
    a.push_back(std::bit_cast<uint32_t>(x));
  const auto got = evaluate<uint32_t, uint32_t>("f32", "f32", "ex2.approx.f32 %d, %a;", a);
  for (size_t i = 0; i < a.size(); ++i) {
    const double exact = std::exp2(double(f(a[i])));
    const float rounded = static_cast<float>(exact);
    const double ulp = std::nextafter(rounded, INFINITY) - double(rounded);
    ASSERT_LE(std::abs(f(got[i]) - exact), 2 * ulp) << f(a[i]);
  }
}

TEST(Halves, FusedIsRoundedOnce) {
  std::mt19937 random(7);
  std::vector<uint16_t> a(4096), b(4096), c(4096);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = uint16_t(random()), b[i] = uint16_t(random()), c[i] = uint16_t(random());
  }
  for (auto [name, type] : {std::pair{"f16", ElementType::f16}, {"bf16", ElementType::bf16}}) {
    const auto got = evaluate<uint16_t, uint16_t>(
        "b16", "b16", std::string("fma.rn.") + name + " %d, %a, %b, %c;", a, b, c);
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = numerics::decode(type, a[i]), y = numerics::decode(type, b[i]),
                   z = numerics::decode(type, c[i]);
      // The product is exact in f64. If the sum is not, move it by one toward the lost part, which
      // keeps it on the right side of a tie.
      const double product = x * y;
      double sum = product + z;
      if (std::isnan(sum)) {
        ASSERT_EQ(got[i], 0x7fff);
        continue;
      }
      const double part = sum - product, rest = (product - (sum - part)) + (z - part);
      if (std::isfinite(sum) && rest != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
        sum = std::nextafter(sum, rest > 0 ? INFINITY : -INFINITY);
      ASSERT_EQ(got[i], numerics::encode(type, sum)) << name << ' ' << i;
    }
  }
}

TEST(Conversions, DirectedRoundingsOfHalvesAreTheNeighbours) {
  const std::vector<uint32_t> a = floats(9);
  for (const char *type : {"f16", "bf16"}) {
    const ElementType element = type == std::string("f16") ? ElementType::f16 : ElementType::bf16;
    auto rounded = [&](const char *mode) {
      return evaluate<uint32_t, uint16_t>(
          "f32", "b16", std::string("cvt.") + mode + "." + type + ".f32 %d, %a;", a);
    };
    const auto down = rounded("rm"), up = rounded("rp"), zero = rounded("rz"), near = rounded("rn");
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = f(a[i]);
      if (std::isnan(x)) {
        ASSERT_EQ(near[i], 0x7fff);
        continue;
      }
      const double low = numerics::decode(element, down[i]),
                   high = numerics::decode(element, up[i]);
      ASSERT_LE(low, x);
      ASSERT_GE(high, x);
      ASSERT_EQ(near[i], numerics::encode(element, x)) << x;
      ASSERT_EQ(zero[i], x < 0 || std::signbit(x) ? up[i] : down[i]) << x;
      if (low != high && std::isfinite(low) && std::isfinite(high)) {
        // Neighbours: the bit patterns differ by one, or are on both sides of zero.
        const int distance = std::abs((down[i] & 0x7fff) - (up[i] & 0x7fff));
        ASSERT_TRUE(distance == 1 || (low <= 0 && high >= 0)) << x;
      }
    }
  }
}

TEST(Conversions, FloatsToIntegersAreClampedAndNanIsZero) {
  const std::vector<uint32_t> a = {0x40200000, 0xc0200000, 0x4f000000, 0xff800000,
                                   0x7fc00000, 0x3f000000, 0xbf000000, 0x4effffff};
  using V = std::vector<int32_t>;
  auto converted = [&](const char *mode) {
    return evaluate<uint32_t, int32_t>("f32", "b32",
                                       std::string("cvt.") + mode + ".s32.f32 %d, %a;", a);
  };
  EXPECT_EQ(converted("rni"), (V{2, -2, INT32_MAX, INT32_MIN, 0, 0, 0, 2147483520}));
  EXPECT_EQ(converted("rzi"), (V{2, -2, INT32_MAX, INT32_MIN, 0, 0, 0, 2147483520}));
  EXPECT_EQ(converted("rmi"), (V{2, -3, INT32_MAX, INT32_MIN, 0, 0, -1, 2147483520}));
  EXPECT_EQ(converted("rpi"), (V{3, -2, INT32_MAX, INT32_MIN, 0, 1, 0, 2147483520}));
}

TEST(Conversions, PairsOfEightBitFloatsThereAndBack) {
  std::vector<uint32_t> a(256);
  for (uint32_t i = 0; i < 256; ++i)
    a[i] = i | i << 8;
  for (const char *type : {"e4m3x2", "e5m2x2"}) {
    const bool isE4 = type[1] == '4';
    const auto got = evaluate<uint32_t, uint32_t>(
        "b32", "b32",
        std::string("cvt.u16.u32 %h0, %a;\ncvt.rn.f16x2.") + type +
            " %x0, %h0;\ncvt.rn.satfinite." + type + ".f16x2 %h1, %x0;\ncvt.u32.u16 %d, %h1;",
        a);
    for (uint32_t i = 0; i < 256; ++i) {
      const double value = numerics::decode(isE4 ? ElementType::f8E4M3FN : ElementType::f8E5M2, i);
      if (std::isnan(value))
        EXPECT_EQ(got[i], 0x7f7fu) << type << i;
      else if (std::isfinite(value))
        EXPECT_EQ(got[i], a[i]) << type << i;
    }
  }
}

} // namespace
} // namespace tilewright::vgpu::machine
