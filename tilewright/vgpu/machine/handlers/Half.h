// Conversions between f16 or bf16 and f32, and helpers for float arithmetic that handlers share.
#ifndef TILEWRIGHT_VGPU_MACHINE_HANDLERS_HALF_H
#define TILEWRIGHT_VGPU_MACHINE_HANDLERS_HALF_H

#include "tilewright/numerics/FloatRounding.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

/// Flushes subnormals to zero of the same sign (.ftz).
VGPU_INLINE Lanes<float> flush(Lanes<float> value) {
  const Lanes<uint32_t> bits = bitsAs<uint32_t>(value);
  return bitsAs<float>((bits & 0x7f800000u) == 0u ? bits & 0x80000000u : bits);
}
/// Like flush, for f16 values held as f32.
VGPU_INLINE Lanes<float> flushHalf(Lanes<float> value) {
  const Lanes<uint32_t> bits = bitsAs<uint32_t>(value);
  return bitsAs<float>((bits & 0x7fffffffu) < 0x38800000u ? bits & 0x80000000u : bits);
}

/// Replaces every NaN by the canonical NaN of PTX.
VGPU_INLINE Lanes<float> canonical(Lanes<float> value) {
  return value != value ? Lanes<float>(std::bit_cast<float>(0x7fffffffu)) : value;
}
/// f64 has no canonical NaN: the NaN of an operand is propagated.
VGPU_INLINE Lanes<double> canonical(Lanes<double> value) { return value; }

/// Clamps to [0, 1] and maps NaN to 0 (.sat).
template <typename T> VGPU_INLINE Lanes<T> saturated(Lanes<T> value) {
  const Lanes<T> zero(0), one(1);
  value = value > zero ? value : zero;
  return value < one ? value : one;
}

template <bool brain> VGPU_INLINE Lanes<float> widen(Lanes<uint16_t> bits) {
  if constexpr (brain)
    return bitsAs<float>(castLanes<uint32_t>(bits) << 16u);
  else
    return castLanes<float>(bitsAs<_Float16>(bits));
}

/// Rounds to nearest even; every NaN becomes the canonical NaN.
template <bool brain> VGPU_INLINE Lanes<uint16_t> narrow(Lanes<float> value) {
  if constexpr (brain) {
    const Lanes<uint32_t> bits = bitsAs<uint32_t>(value);
    const Lanes<uint32_t> rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return castLanes<uint16_t>(value != value ? Lanes<uint32_t>(0x7fff) : rounded);
  } else {
    const Lanes<uint16_t> rounded = bitsAs<uint16_t>(castLanes<_Float16>(value));
    const Lanes<uint16_t> magnitude = rounded & uint16_t(0x7fff);
    return magnitude > uint16_t(0x7c00) ? Lanes<uint16_t>(0x7fff) : rounded;
  }
}
/// Like narrow, but from an exact f64, with one rounding.
template <bool brain> VGPU_INLINE Lanes<uint16_t> narrow(Lanes<double> value) {
  using numerics::ElementType;
  Lanes<uint16_t> result;
  for (int i = 0; i < 32; ++i)
    result[i] = static_cast<uint16_t>(
        numerics::detail::encodeFrom<brain ? ElementType::bf16 : ElementType::f16>(
            static_cast<double>(value[i])));
  return castLanes<int16_t>(value != value) != int16_t(0) ? Lanes<uint16_t>(0x7fff) : result;
}

/// a * b + c in f64, rounded to odd, so that converting it to f16 or bf16 gives the correctly
/// rounded result. The product is exact in f64, but a bf16 c may be so much smaller that a sum
/// rounded to nearest loses it, and a tie is then broken the wrong way.
VGPU_INLINE Lanes<double> fusedToOdd(Lanes<double> a, Lanes<double> b, Lanes<double> c) {
  const Lanes<double> product = a * b, sum = product + c;
  const Lanes<double> part = sum - product;
  const Lanes<double> rest = (product - (sum - part)) + (c - part);
  const Lanes<int64_t> bits = bitsAs<int64_t>(sum);
  // Round toward the exact value; sums that are not finite have a NaN remainder.
  const auto isInexact = rest != 0.0 && rest == rest && (bits & int64_t(1)) == int64_t(0);
  const auto grows = (rest > 0.0) == (sum > 0.0);
  const Lanes<int64_t> odd = grows ? bits + int64_t(1) : bits - int64_t(1);
  return bitsAs<double>(isInexact ? odd : bits);
}

/// 2^x within 2 ulp of f32.
VGPU_INLINE Lanes<float> exp2Lanes(Lanes<float> x) {
  const Lanes<float> low(-152.0f), high(130.0f);
  Lanes<float> clamped = x > low ? x : low; // NaN becomes `low`, and is restored below
  clamped = clamped < high ? clamped : high;
  const Lanes<float> whole = __builtin_elementwise_roundeven(clamped);
  const Lanes<float> rest = clamped - whole;
  // ln(2)^k / k!; the next term is below 2^-27 for |rest| <= 1/2.
  Lanes<float> sum(1.5252734e-5f);
  for (float coefficient : {1.5403530e-4f, 1.3333558e-3f, 9.6181291e-3f, 5.5504109e-2f,
                            2.4022651e-1f, 6.9314718e-1f, 1.0f})
    sum = __builtin_elementwise_fma(sum, rest, Lanes<float>(coefficient));
  // Multiply by two factors, so that subnormal results are rounded once.
  const Lanes<int32_t> n = castLanes<int32_t>(whole);
  const Lanes<int32_t> first = n >> 1, second = n - first;
  sum *= bitsAs<float>((first + 127) << 23);
  sum *= bitsAs<float>((second + 127) << 23);
  return x != x ? x : sum;
}

} // namespace tilewright::vgpu::machine::VGPU_ISA

#endif // TILEWRIGHT_VGPU_MACHINE_HANDLERS_HALF_H
