// Compares the functions of CompilerCalls.h, as compiled code calls them, with numerics.

#include "tilewright/numerics/Float.h"
#include "tilewright/runtime/cpu/object/ObjectCode.h"
#include "tilewright/runtime/cpu/object/testing/Object.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace tilewright;
using namespace tilewright::runtime::cpu;
using numerics::ElementType;

namespace {

struct CompilerCalls : testing::Test {
  void SetUp() override {
    const std::vector<std::byte> file = compileForTest(R"(
      unsigned short half(float x) { _Float16 h = (_Float16)x; return __builtin_bit_cast(unsigned short, h); }
      unsigned short dhalf(double x) { _Float16 h = (_Float16)x; return __builtin_bit_cast(unsigned short, h); }
      float single(unsigned short x) { return (float)__builtin_bit_cast(_Float16, x); }
      unsigned short brain(float x) { __bf16 h = (__bf16)x; return __builtin_bit_cast(unsigned short, h); }
      unsigned short dbrain(double x) { __bf16 h = (__bf16)x; return __builtin_bit_cast(unsigned short, h); }
      double powers(double x, int n) { return __builtin_powi(x, n); }
      float powersf(float x, int n) { return __builtin_powif(x, n); }
      typedef __int128 W; typedef unsigned __int128 U;
      W quotient(W a, W b) { return a / b; }
      W rest(W a, W b) { return a % b; }
      U uquotient(U a, U b) { return a / b; }
      U urest(U a, U b) { return a % b; }
    )",
                                                       "-mno-f16c");
    Result<std::unique_ptr<ObjectCode>> loaded = ObjectCode::load({&file, 1});
    ASSERT_TRUE(loaded.isOk()) << std::move(loaded).takeStatus().toString();
    object = *std::move(loaded);
  }
  template <typename Function> Function *function(const char *name) {
    return reinterpret_cast<Function *>(object->find(name));
  }
  std::unique_ptr<ObjectCode> object;
};

} // namespace

TEST_F(CompilerCalls, HalvesConvertAsNumericsDoes) {
  auto *single = function<float(uint16_t)>("single");
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = single(static_cast<uint16_t>(bits));
    const double expected = numerics::decode(ElementType::f16, bits);
    ASSERT_TRUE(value == expected || (value != value && expected != expected)) << bits;
  }
  auto *half = function<uint16_t(float)>("half");
  auto *brain = function<uint16_t(float)>("brain");
  auto *dhalf = function<uint16_t(double)>("dhalf");
  auto *dbrain = function<uint16_t(double)>("dbrain");
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const auto value = std::bit_cast<float>(i % 2 ? bits : bits & 0xFFFFF000);
    auto wide = std::bit_cast<double>(random());
    if (i % 2) // near the range of f16, and often a tie that one bit decides
      wide = std::ldexp(1.0 + (random() % 4096) / 4096.0, int(random() % 40) - 26) +
             std::ldexp(double(random() % 3) - 1, -60);
    if (value == value) {
      ASSERT_EQ(half(value), numerics::encode(ElementType::f16, value)) << value;
      ASSERT_EQ(brain(value), numerics::encode(ElementType::bf16, value)) << value;
    }
    if (wide == wide) {
      ASSERT_EQ(dhalf(wide), numerics::encode(ElementType::f16, wide)) << wide;
      ASSERT_EQ(dbrain(wide), numerics::encode(ElementType::bf16, wide)) << wide;
    }
  }
  EXPECT_EQ(brain(NAN) & 0x7FC0, 0x7FC0);
}

TEST_F(CompilerCalls, Powers) {
  auto *powers = function<double(double, int)>("powers");
  EXPECT_EQ(powers(3, 5), 243);
  EXPECT_EQ(powers(2, -3), 0.125);
  EXPECT_EQ(powers(1, -2147483647 - 1), 1);
  EXPECT_EQ(function<float(float, int)>("powersf")(3, 4), 81);
}

TEST_F(CompilerCalls, WideDivision) {
  using W = __int128;
  using U = unsigned __int128;
  auto *quotient = function<W(W, W)>("quotient");
  auto *rest = function<W(W, W)>("rest");
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<W>(U(random()) << 64 | random()) >> random() % 128;
    const auto b = static_cast<W>(U(random()) << 64 | random()) >> random() % 127;
    if (b == 0 || b == -1)
      continue;
    ASSERT_TRUE(quotient(a, b) == a / b && rest(a, b) == a % b);
    ASSERT_TRUE(function<U(U, U)>("uquotient")(U(a), U(b)) == U(a) / U(b));
    ASSERT_TRUE(function<U(U, U)>("urest")(U(a), U(b)) == U(a) % U(b));
  }
}
