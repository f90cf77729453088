// The types in which the tables of meanings (Scalar.def, Vector.def) are written.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_TYPES_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_TYPES_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tilewright::vgpu::amdgcn {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;
using f16 = _Float16;
using f32 = float;
using f64 = double;

/// The number of a lane.
struct Lane {
  unsigned number;
};

/// A result with a mask: a carry, or the VCC of v_div_scale.
template <typename T> struct WithMask {
  T value;
  bool mask;
};

/// The bits of a value, and the value of bits.
template <typename T> u64 bitsOf(T value) {
  if constexpr (std::is_same_v<T, f16>)
    return std::bit_cast<u16>(value);
  else if constexpr (std::is_same_v<T, f32>)
    return std::bit_cast<u32>(value);
  else if constexpr (std::is_same_v<T, f64>)
    return std::bit_cast<u64>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}
template <typename T> T fromBits(u64 bits) {
  if constexpr (std::is_same_v<T, f16>)
    return std::bit_cast<f16>(static_cast<u16>(bits));
  else if constexpr (std::is_same_v<T, f32>)
    return std::bit_cast<f32>(static_cast<u32>(bits));
  else if constexpr (std::is_same_v<T, f64>)
    return std::bit_cast<f64>(bits);
  else
    return static_cast<T>(bits);
}

template <typename T>
inline constexpr bool isFloat = std::is_same_v<T, f16> || std::is_floating_point_v<T>;

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_TYPES_H
