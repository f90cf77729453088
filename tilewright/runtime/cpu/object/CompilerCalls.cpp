#include "tilewright/runtime/cpu/object/CompilerCalls.h"

#include "tilewright/numerics/Float.h"

#include <bit>
#include <cstdint>

namespace tilewright::runtime::cpu {
namespace {

using numerics::ElementType;

// The types below make the compiler pass f16 and bf16 in floating-point registers. The conversions
// themselves work on bits, so that none of these functions is compiled to a call of itself.

float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }

/// Rounds to nearest even; a NaN stays a NaN and keeps its sign and upper bits.
uint16_t bf16Of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
/// Converts a double to a float that rounds to the same bf16 or f16 (round to odd): inexact results
/// get an odd last bit.
float oddFloatOf(double value) {
  const auto nearest = static_cast<float>(value);
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (nearest == value || nearest != nearest || (bits & 1))
    return nearest;
  const bool isTooLarge = (value < 0 ? -value : value) < (nearest < 0 ? -nearest : nearest);
  return floatOf(isTooLarge ? bits - 1 : bits + 1);
}
uint16_t f16Of(double value) {
  return static_cast<uint16_t>(numerics::encode(ElementType::f16, value));
}
double decodeF16(_Float16 value) {
  return numerics::decode(ElementType::f16, std::bit_cast<uint16_t>(value));
}

__bf16 truncsfbf2(float value) { return std::bit_cast<__bf16>(bf16Of(value)); }
__bf16 truncdfbf2(double value) { return std::bit_cast<__bf16>(bf16Of(oddFloatOf(value))); }
float extendbfsf2(__bf16 value) { return floatOf(uint32_t(std::bit_cast<uint16_t>(value)) << 16); }
_Float16 truncsfhf2(float value) { return std::bit_cast<_Float16>(f16Of(value)); }
_Float16 truncdfhf2(double value) { return std::bit_cast<_Float16>(f16Of(value)); }
float extendhfsf2(_Float16 value) { return static_cast<float>(decodeF16(value)); }
double extendhfdf2(_Float16 value) { return decodeF16(value); }
// The older names pass f16 as an integer.
uint16_t f2hIeee(float value) { return f16Of(value); }
float h2fIeee(uint16_t bits) {
  return static_cast<float>(numerics::decode(ElementType::f16, bits));
}

template <typename T> T powi(T base, int exponent) {
  const bool isInverse = exponent < 0;
  T result = 1;
  for (uint32_t rest = isInverse ? 0u - static_cast<uint32_t>(exponent) : exponent; rest;
       rest >>= 1, base *= base)
    if (rest & 1)
      result *= base;
  return isInverse ? 1 / result : result;
}

using Wide = unsigned __int128;
using SignedWide = __int128;

/// Divides bit by bit: the compiler would translate the operator / on this type to a call of this
/// function.
Wide divide(Wide a, Wide b, Wide &remainder) {
  Wide quotient = 0;
  remainder = 0;
  for (int bit = 127; bit >= 0 && b != 0; --bit) {
    const bool carries = remainder >> 127;
    remainder = remainder << 1 | (a >> bit & 1);
    if (carries || remainder >= b) {
      remainder -= b;
      quotient |= Wide(1) << bit;
    }
  }
  return quotient;
}
Wide magnitude(SignedWide value) { return value < 0 ? -Wide(value) : Wide(value); }

Wide udivti3(Wide a, Wide b) {
  Wide remainder;
  return divide(a, b, remainder);
}
Wide umodti3(Wide a, Wide b) {
  Wide remainder;
  divide(a, b, remainder);
  return remainder;
}
SignedWide divti3(SignedWide a, SignedWide b) {
  const Wide quotient = udivti3(magnitude(a), magnitude(b));
  return static_cast<SignedWide>((a < 0) != (b < 0) ? -quotient : quotient);
}
SignedWide modti3(SignedWide a, SignedWide b) {
  const Wide remainder = umodti3(magnitude(a), magnitude(b));
  return static_cast<SignedWide>(a < 0 ? -remainder : remainder);
}

template <typename Function> const void *addressOf(Function *function) {
  return reinterpret_cast<const void *>(function);
}

} // namespace

std::span<const RuntimeSymbol> compilerSymbols() {
  static const RuntimeSymbol symbols[] = {
      {"__truncsfbf2", addressOf(truncsfbf2)},   {"__truncdfbf2", addressOf(truncdfbf2)},
      {"__extendbfsf2", addressOf(extendbfsf2)}, {"__truncsfhf2", addressOf(truncsfhf2)},
      {"__truncdfhf2", addressOf(truncdfhf2)},   {"__extendhfsf2", addressOf(extendhfsf2)},
      {"__extendhfdf2", addressOf(extendhfdf2)}, {"__gnu_f2h_ieee", addressOf(f2hIeee)},
      {"__gnu_h2f_ieee", addressOf(h2fIeee)},    {"__powisf2", addressOf(powi<float>)},
      {"__powidf2", addressOf(powi<double>)},    {"__udivti3", addressOf(udivti3)},
      {"__umodti3", addressOf(umodti3)},         {"__divti3", addressOf(divti3)},
      {"__modti3", addressOf(modti3)},
  };
  return symbols;
}

} // namespace tilewright::runtime::cpu
