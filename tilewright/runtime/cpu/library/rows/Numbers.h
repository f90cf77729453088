// How elements of each type are loaded, computed with and stored, as scalars and as vectors.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_NUMBERS_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_NUMBERS_H

#include "tilewright/runtime/cpu/library/Isa.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tilewright::runtime::cpu {

/// A type with native arithmetic. Stored is the type in memory, Value the type of computation.
/// Vectors keep the order of elements in memory.
template <typename T> struct PlainNumber {
  using Stored = T;
  using Value = T;
  using Lane = T;
  static constexpr bool hasVectors = true;
  static TILEWRIGHT_INLINE Value load(Stored stored) { return stored; }
  static TILEWRIGHT_INLINE Stored store(Value value) { return value; }
  template <int count> static TILEWRIGHT_INLINE Vector<T, count> loadMany(const Stored *from) {
    return loadVector<Vector<T, count>>(from);
  }
  template <int count> static TILEWRIGHT_INLINE void storeMany(Stored *to, Vector<T, count> value) {
    storeVector(to, value);
  }
};

/// bf16: the upper half of an f32. Rounded to nearest even when stored.
struct Bf16Number {
  using Stored = uint16_t;
  using Value = float;
  using Lane = float;
  static constexpr bool hasVectors = true;
  static TILEWRIGHT_INLINE Value load(Stored stored) {
    return std::bit_cast<float>(static_cast<uint32_t>(stored) << 16);
  }
  static TILEWRIGHT_INLINE Stored store(Value value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (value != value)
      return static_cast<Stored>((bits >> 16) | 0x40);
    return static_cast<Stored>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  template <int count> static TILEWRIGHT_INLINE Vector<float, count> loadMany(const Stored *from) {
    const auto narrow = loadVector<Vector<uint16_t, count>>(from);
    const Vector<uint32_t, count> wide = __builtin_convertvector(narrow, Vector<uint32_t, count>)
                                         << 16;
    return __builtin_bit_cast(Vector<float, count>, wide);
  }
  template <int count>
  static TILEWRIGHT_INLINE void storeMany(Stored *to, Vector<float, count> value) {
    using Bits = Vector<uint32_t, count>;
    const auto bits = __builtin_bit_cast(Bits, value);
    const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const Bits nan = (bits >> 16) | 0x40;
    const Bits both = __builtin_bit_cast(Bits, value != value) & (nan ^ rounded);
    storeVector(to, __builtin_convertvector(rounded ^ both, Vector<uint16_t, count>));
  }
};

struct F16Number {
  using Stored = _Float16;
  using Value = float;
  using Lane = float;
  static constexpr bool hasVectors = true;
  static TILEWRIGHT_INLINE Value load(Stored stored) { return static_cast<float>(stored); }
  static TILEWRIGHT_INLINE Stored store(Value value) { return static_cast<_Float16>(value); }
  template <int count> static TILEWRIGHT_INLINE Vector<float, count> loadMany(const Stored *from) {
    return __builtin_convertvector(loadVector<Vector<_Float16, count>>(from), Vector<float, count>);
  }
  template <int count>
  static TILEWRIGHT_INLINE void storeMany(Stored *to, Vector<float, count> value) {
    storeVector(to, __builtin_convertvector(value, Vector<_Float16, count>));
  }
};

template <typename T> struct ComplexPair {
  T real, imag;
};
/// Complex elements are not vectorised: the functions that take vectors are never called.
template <typename T> struct ComplexNumber {
  using Stored = ComplexPair<T>;
  using Value = ComplexPair<T>;
  using Lane = T;
  static constexpr bool hasVectors = false;
  static TILEWRIGHT_INLINE Value load(Stored stored) { return stored; }
  static TILEWRIGHT_INLINE Stored store(Value value) { return value; }
  template <int count> static Vector<T, count> loadMany(const Stored *from);
  template <int count> static void storeMany(Stored *to, Vector<T, count> value);
};

/// The element type of a scalar or vector.
template <typename V> struct LaneOf {
  using Type = V;
  static constexpr bool isVector = false;
};
template <typename V>
  requires requires(V v) { v[0]; }
struct LaneOf<V> {
  using Type = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
  static constexpr bool isVector = true;
};

/// Binary operations. `apply` takes scalars or vectors.
struct AddOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) {
    if constexpr (requires { a.imag; })
      return {a.real + b.real, a.imag + b.imag};
    else
      return static_cast<V>(a + b);
  }
  /// x + -0 is x for every x, including -0.
  template <typename T> static constexpr T identity() {
    if constexpr (requires(T t) { t.imag; })
      return {-decltype(T::real)(0), -decltype(T::real)(0)};
    else
      return static_cast<T>(std::is_floating_point_v<T> ? -T(0) : T(0));
  }
};
struct MultiplyOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) {
    if constexpr (requires { a.imag; })
      return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
    else if constexpr (std::is_same_v<V, uint16_t>)
      return static_cast<V>(static_cast<uint32_t>(a) * b); // int would overflow
    else
      return static_cast<V>(a * b);
  }
  template <typename T> static constexpr T identity() {
    if constexpr (requires(T t) { t.imag; })
      return {1, 0};
    else
      return T(1);
  }
};

namespace detail {
/// IEEE-754 maximum or minimum: NaN propagates, and -0 is below +0.
template <bool isMaximum, typename V> TILEWRIGHT_INLINE V extreme(V a, V b) {
  using Lane = typename LaneOf<V>::Type;
  if constexpr (!std::is_floating_point_v<Lane>) {
    return isMaximum ? (a > b ? a : b) : (a < b ? a : b);
  } else if constexpr (!LaneOf<V>::isVector) {
    using Bits = std::conditional_t<sizeof(Lane) == 4, uint32_t, uint64_t>;
    const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
    V further = isMaximum ? (a > b ? a : b) : (a < b ? a : b);
    further = a == b ? std::bit_cast<V>(isMaximum ? x & y : x | y) : further;
    return a != a ? a : further;
  } else {
    using Mask = decltype(a > b);
    const auto x = __builtin_bit_cast(Mask, a), y = __builtin_bit_cast(Mask, b);
    const Mask equal = a == b, unordered = a != a;
    V further = isMaximum ? (a > b ? a : b) : (a < b ? a : b);
    further = equal ? __builtin_bit_cast(V, isMaximum ? x & y : x | y) : further;
    return unordered ? a : further;
  }
}
} // namespace detail

struct MaximumOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) {
    return detail::extreme<true>(a, b);
  }
  template <typename T> static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  }
};
struct MinimumOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) {
    return detail::extreme<false>(a, b);
  }
  template <typename T> static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
};
struct AndOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) { return static_cast<V>(a & b); }
  template <typename T> static constexpr T identity() { return static_cast<T>(~T(0)); }
};
struct OrOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) { return static_cast<V>(a | b); }
  template <typename T> static constexpr T identity() { return T(0); }
};
struct XorOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V a, V b) { return static_cast<V>(a ^ b); }
  template <typename T> static constexpr T identity() { return T(0); }
};
/// Returns its second argument, for a scatter that overwrites elements.
struct SecondOp {
  template <typename V> static TILEWRIGHT_INLINE V apply(V, V b) { return b; }
  template <typename T> static constexpr T identity() { return T(); }
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_NUMBERS_H
