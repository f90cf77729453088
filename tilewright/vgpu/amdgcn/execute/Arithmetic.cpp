#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"

namespace tilewright::vgpu::amdgcn {

template <typename T> static bool isDenormal(T value) {
  return exponentOf(value) == 0 && mantissaOf(value) != 0;
}

// Constants of the division steps: when a quotient is near the largest number, by which power of
// two operands are scaled, and which numerators are tiny.
template <typename T> inline constexpr int nearMaximum = sizeof(T) == 4 ? 96 : 768;
template <typename T> inline constexpr int scaling = sizeof(T) == 4 ? 64 : 128;
template <typename T> inline constexpr int tinyExponent = sizeof(T) == 4 ? 23 : 53;

template <typename T> WithMask<T> divScale(T a, T b, T c) {
  if (b == 0 || c == 0)
    return {quietNan<T>(), false};
  const bool isDenominator = a == b, isNumerator = a == c;
  const T up = std::ldexp(a, scaling<T>), down = std::ldexp(a, -scaling<T>);
  if (exponentOf(c) - exponentOf(b) >= nearMaximum<T>)
    return {isDenominator ? up : a, true};
  if (isDenormal(b))
    return {up, false};
  const bool isReciprocalTiny = isDenormal(T(1) / b), isQuotientTiny = isDenormal(c / b);
  // The manual also scales the denominator up here. That would overflow: a reciprocal is denormal
  // only if the denominator is near the largest number.
  if (isReciprocalTiny && isQuotientTiny)
    return {isDenominator ? down : a, true};
  if (isReciprocalTiny)
    return {down, false};
  if (isQuotientTiny)
    return {isNumerator ? up : a, true};
  return {exponentOf(c) <= tinyExponent<T> ? up : a, false};
}
template WithMask<f32> divScale(f32, f32, f32);
template WithMask<f64> divScale(f64, f64, f64);

} // namespace tilewright::vgpu::amdgcn
