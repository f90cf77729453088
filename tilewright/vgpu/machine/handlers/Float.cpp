#include "tilewright/vgpu/machine/decode/FloatForms.h"
#include "tilewright/vgpu/machine/handlers/Half.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

#include <cmath>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace tilewright::vgpu::machine::VGPU_ISA {

/// Computes in another rounding mode of the host. The empty asm statements prevent the compiler
/// from moving the arithmetic across the mode changes.
template <typename T, typename Function>
VGPU_INLINE Lanes<T> rounded(uint64_t form, Lanes<T> a, Lanes<T> b, Lanes<T> c, Function function) {
  const auto rounding = static_cast<Rounding>(form & roundingMask);
  if (rounding == Rounding::nearest)
    return function(a, b, c);
#if defined(__x86_64__)
  static constexpr unsigned control[] = {0, 3, 1, 2}; // nearest, zero, down, up
  const unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | control[static_cast<unsigned>(rounding)] << 13);
#else
  static constexpr int control[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(control[static_cast<unsigned>(rounding)]);
#endif
  __asm__ volatile("" : "+m"(a), "+m"(b), "+m"(c));
  Lanes<T> result = function(a, b, c);
  __asm__ volatile("" : "+m"(result));
#if defined(__x86_64__)
  _mm_setcsr(saved);
#else
  std::fesetround(FE_TONEAREST);
#endif
  return result;
}

template <typename T> VGPU_INLINE Lanes<T> input(uint64_t form, Lanes<T> value) {
  if constexpr (sizeof(T) == 4)
    if (form & formFtz)
      return flush(value);
  return value;
}
template <typename T>
VGPU_INLINE void output(const Op *op, std::byte *registers, uint32_t m, Lanes<T> value) {
  if constexpr (sizeof(T) == 4)
    if (op->imm & formFtz)
      value = flush(value);
  value = op->imm & formSaturate ? saturated<T>(value) : canonical(value);
  put<T>(registers, op->d, m, value);
}

#define VGPU_FLOAT(name, expression)                                                               \
  template <typename T> static void name(VGPU_ARGS) {                                              \
    const uint32_t m = active(op, registers, mask);                                                \
    const Lanes<T> a = get<T>(registers, op->a), b = get<T>(registers, op->b);                     \
    put<T>(registers, op->d, m, canonical(expression));                                            \
    VGPU_NEXT;                                                                                     \
  }                                                                                                \
  template <typename T> static void name##X(VGPU_ARGS) {                                           \
    const uint32_t m = active(op, registers, mask);                                                \
    output<T>(op, registers, m,                                                                    \
              rounded<T>(op->imm, input<T>(op->imm, get<T>(registers, op->a)),                     \
                         input<T>(op->imm, get<T>(registers, op->b)), Lanes<T>(0),                 \
                         [](Lanes<T> a, Lanes<T> b, Lanes<T>) { return expression; }));            \
    VGPU_NEXT;                                                                                     \
  }
VGPU_FLOAT(addFloat, a + b)
VGPU_FLOAT(subtractFloat, a - b)
VGPU_FLOAT(multiplyFloat, a *b)

template <typename T> static void fusedFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<T>(registers, op->d, m,
         canonical(__builtin_elementwise_fma(get<T>(registers, op->a), get<T>(registers, op->b),
                                             get<T>(registers, op->c))));
  VGPU_NEXT;
}
template <typename T> static void fusedFloatX(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(op, registers, m,
            rounded<T>(op->imm, input<T>(op->imm, get<T>(registers, op->a)),
                       input<T>(op->imm, get<T>(registers, op->b)),
                       input<T>(op->imm, get<T>(registers, op->c)),
                       [](Lanes<T> a, Lanes<T> b, Lanes<T> c) {
                         return __builtin_elementwise_fma(a, b, c);
                       }));
  VGPU_NEXT;
}
template <typename T> static void divideFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(op, registers, m,
            rounded<T>(op->imm, input<T>(op->imm, get<T>(registers, op->a)),
                       input<T>(op->imm, get<T>(registers, op->b)), Lanes<T>(0),
                       [](Lanes<T> a, Lanes<T> b, Lanes<T>) { return a / b; }));
  VGPU_NEXT;
}
template <typename T> static void reciprocal(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(op, registers, m,
            rounded<T>(op->imm, input<T>(op->imm, get<T>(registers, op->a)), Lanes<T>(1),
                       Lanes<T>(0), [](Lanes<T> a, Lanes<T> b, Lanes<T>) { return b / a; }));
  VGPU_NEXT;
}
template <typename T> static void squareRoot(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(
      op, registers, m,
      rounded<T>(op->imm, input<T>(op->imm, get<T>(registers, op->a)), Lanes<T>(0), Lanes<T>(0),
                 [](Lanes<T> a, Lanes<T>, Lanes<T>) { return __builtin_elementwise_sqrt(a); }));
  VGPU_NEXT;
}

// min and max: -0 is less than +0. If one operand is a NaN, the result is the other operand, or NaN
// with .NaN.

template <typename T>
VGPU_INLINE Lanes<T> extreme(uint64_t form, bool isMaximum, Lanes<T> a, Lanes<T> b) {
  using U = UnsignedOf<T>;
  constexpr U sign = U(1) << (8 * sizeof(T) - 1);
  Lanes<U> signs(0);
  if (form & formXorSign) {
    signs = (bitsAs<U>(a) ^ bitsAs<U>(b)) & sign;
    a = bitsAs<T>(bitsAs<U>(a) & static_cast<U>(~sign));
    b = bitsAs<T>(bitsAs<U>(b) & static_cast<U>(~sign));
  }
  // Equal numbers differ at most in sign: OR gives -0, AND gives +0.
  const Lanes<U> equal = isMaximum ? bitsAs<U>(a) & bitsAs<U>(b) : bitsAs<U>(a) | bitsAs<U>(b);
  Lanes<T> result = isMaximum ? (a > b ? a : b) : (a < b ? a : b);
  result = a == b ? bitsAs<T>(equal) : result;
  if (form & formNan)
    result = (a != a) ? a : (b != b) ? b : result;
  else
    result = (a != a) ? b : (b != b) ? a : result;
  result = result != result ? result : bitsAs<T>(bitsAs<U>(result) | signs);
  if (form & formRelu)
    result = result > T(0) || result != result ? result : Lanes<T>(0);
  return result;
}
template <typename T> static void minimumFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(op, registers, m,
            extreme<T>(op->imm, false, input<T>(op->imm, get<T>(registers, op->a)),
                       input<T>(op->imm, get<T>(registers, op->b))));
  VGPU_NEXT;
}
template <typename T> static void maximumFloat(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  output<T>(op, registers, m,
            extreme<T>(op->imm, true, input<T>(op->imm, get<T>(registers, op->a)),
                       input<T>(op->imm, get<T>(registers, op->b))));
  VGPU_NEXT;
}
template <typename T> static void absoluteFloat(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = input<T>(op->imm, get<T>(registers, op->a));
  put<U>(registers, op->d, m, bitsAs<U>(a) & static_cast<U>(~(U(1) << (8 * sizeof(T) - 1))));
  VGPU_NEXT;
}
template <typename T> static void negateFloat(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  const uint32_t m = active(op, registers, mask);
  const Lanes<T> a = input<T>(op->imm, get<T>(registers, op->a));
  put<U>(registers, op->d, m, bitsAs<U>(a) ^ static_cast<U>(U(1) << (8 * sizeof(T) - 1)));
  VGPU_NEXT;
}
/// b with the sign of a.
template <typename T> static void copySign(VGPU_ARGS) {
  using U = UnsignedOf<T>;
  constexpr U sign = U(1) << (8 * sizeof(T) - 1);
  const uint32_t m = active(op, registers, mask);
  const Lanes<U> a = get<U>(registers, op->a), b = get<U>(registers, op->b);
  put<U>(registers, op->d, m, (a & sign) | (b & static_cast<U>(~sign)));
  VGPU_NEXT;
}

// Approximations. They are computed in f64 unless noted, so their error is at most 1 ulp (2 ulp for
// ex2); PTX allows more.

VGPU_INLINE Lanes<float> approximation(Approximation function, Lanes<float> a) {
  Lanes<float> result;
  switch (function) {
  case Approximation::ex2:
    return exp2Lanes(a);
  case Approximation::rcp:
    return Lanes<float>(1) / a;
  case Approximation::sqrt:
    return __builtin_elementwise_sqrt(a);
  case Approximation::rsqrt:
    return castLanes<float>(Lanes<double>(1) / __builtin_elementwise_sqrt(castLanes<double>(a)));
  case Approximation::lg2:
    for (int i = 0; i < 32; ++i)
      result[i] = static_cast<float>(std::log2(static_cast<double>(a[i])));
    return result;
  case Approximation::sin:
    for (int i = 0; i < 32; ++i)
      result[i] = static_cast<float>(std::sin(static_cast<double>(a[i])));
    return result;
  case Approximation::cos:
    for (int i = 0; i < 32; ++i)
      result[i] = static_cast<float>(std::cos(static_cast<double>(a[i])));
    return result;
  default:
    for (int i = 0; i < 32; ++i)
      result[i] = static_cast<float>(std::tanh(static_cast<double>(a[i])));
    return result;
  }
}
static void approximate(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const auto function = static_cast<Approximation>(op->imm >> 32);
  output<float>(op, registers, m,
                approximation(function, input<float>(op->imm, get<float>(registers, op->a))));
  VGPU_NEXT;
}
/// rcp.approx.ftz.f64 and rsqrt.approx.f64. rcp has a 20-bit mantissa and flushes subnormals.
static void approximate64(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const bool isReciprocal = static_cast<Approximation>(op->imm >> 32) == Approximation::rcp;
  Lanes<uint64_t> bits = get<uint64_t>(registers, op->a);
  if (op->imm & formFtz)
    bits = (bits & 0x7ff0000000000000u) == uint64_t(0) ? bits & 0x8000000000000000u : bits;
  const Lanes<double> a = bitsAs<double>(bits);
  const Lanes<double> one(1);
  const Lanes<double> exact = isReciprocal ? one / a : one / __builtin_elementwise_sqrt(a);
  Lanes<uint64_t> result = bitsAs<uint64_t>(canonical(exact));
  if (op->imm & formFtz)
    result = (result & 0x7ff0000000000000u) == uint64_t(0) ? result & 0x8000000000000000u : result;
  if (isReciprocal)
    result = (result & 0x7fffffffffffffffu) > uint64_t(0x7ff0000000000000u)
                 ? result
                 : result & 0xffffffff00000000u;
  put<uint64_t>(registers, op->d, m, result);
  VGPU_NEXT;
}

// f16 and bf16. Sums, differences and f16 products are rounded twice, to f32 and then to the
// result; the 24 bits of f32 make the double rounding harmless. Products of bf16 may be subnormal
// in f32, and fused operations need more bits, so both are computed in f64.

template <bool brain>
VGPU_INLINE Lanes<uint16_t> halfResult(uint64_t form, Lanes<uint16_t> x, Lanes<uint16_t> y,
                                       Lanes<uint16_t> z) {
  const auto kind = static_cast<HalfOperation>(form >> 32);
  if (kind == HalfOperation::negate || kind == HalfOperation::absolute) {
    if ((form & formFtz) && !brain)
      x = (x & uint16_t(0x7c00)) == uint16_t(0) ? x & uint16_t(0x8000) : x;
    return kind == HalfOperation::negate ? x ^ uint16_t(0x8000) : x & uint16_t(0x7fff);
  }
  Lanes<float> a = widen<brain>(x), b = widen<brain>(y);
  if (form & formFtz && !brain) {
    a = flushHalf(a);
    b = flushHalf(b);
  }
  Lanes<uint16_t> result;
  switch (kind) {
  case HalfOperation::add:
    result = narrow<brain>(a + b);
    break;
  case HalfOperation::subtract:
    result = narrow<brain>(a - b);
    break;
  case HalfOperation::multiply:
    if constexpr (brain)
      result = narrow<brain>(castLanes<double>(a) * castLanes<double>(b));
    else
      result = narrow<brain>(a * b);
    break;
  case HalfOperation::fused: {
    Lanes<float> c = widen<brain>(z);
    if (form & formFtz && !brain)
      c = flushHalf(c);
    result =
        narrow<brain>(fusedToOdd(castLanes<double>(a), castLanes<double>(b), castLanes<double>(c)));
    break;
  }
  case HalfOperation::minimum:
    result = narrow<brain>(extreme<float>(form & ~uint64_t(formRelu), false, a, b));
    break;
  case HalfOperation::maximum:
    result = narrow<brain>(extreme<float>(form & ~uint64_t(formRelu), true, a, b));
    break;
  case HalfOperation::ex2:
    result = narrow<brain>(exp2Lanes(brain ? flush(a) : a));
    if (brain) // the instruction always flushes
      result = (result & uint16_t(0x7f80)) == uint16_t(0) ? result & uint16_t(0x8000) : result;
    break;
  default:
    result = narrow<brain>(approximation(Approximation::tanh, a));
    break;
  }
  if (form & formFtz && !brain)
    result = (result & uint16_t(0x7c00)) == uint16_t(0) ? result & uint16_t(0x8000) : result;
  if (form & formSaturate)
    result = narrow<brain>(saturated<float>(widen<brain>(result)));
  if (form & formOob) {
    // The NaN with which tensor copies fill: 0x7fff. PTX does not specify its bits.
    const uint16_t filled = 0x7fff;
    result = x == filled || y == filled ? Lanes<uint16_t>(0) : result;
  }
  if (form & formRelu) {
    const Lanes<float> value = widen<brain>(result);
    result = castLanes<int16_t>(value > 0.0f || value != value) != int16_t(0) ? result
                                                                              : Lanes<uint16_t>(0);
  }
  return result;
}
template <bool brain> static void halfArithmetic(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  put<uint16_t>(registers, op->d, m,
                halfResult<brain>(op->imm, get<uint16_t>(registers, op->a),
                                  get<uint16_t>(registers, op->b),
                                  get<uint16_t>(registers, op->c)));
  VGPU_NEXT;
}
template <bool brain> static void pairArithmetic(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  const Lanes<uint32_t> a = get<uint32_t>(registers, op->a), b = get<uint32_t>(registers, op->b),
                        c = get<uint32_t>(registers, op->c);
  const Lanes<uint16_t> low = halfResult<brain>(op->imm, castLanes<uint16_t>(a),
                                                castLanes<uint16_t>(b), castLanes<uint16_t>(c));
  const Lanes<uint16_t> high =
      halfResult<brain>(op->imm, castLanes<uint16_t>(a >> 16u), castLanes<uint16_t>(b >> 16u),
                        castLanes<uint16_t>(c >> 16u));
  put<uint32_t>(registers, op->d, m, castLanes<uint32_t>(low) | castLanes<uint32_t>(high) << 16u);
  VGPU_NEXT;
}

extern const Run floatHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Float.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
