// The rounding and the modifiers of a float operation, as bits of Op::imm.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_FLOATFORMS_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_FLOATFORMS_H

#include <cstdint>

namespace tilewright::vgpu::machine {

enum class Rounding : uint8_t { nearest, zero, down, up, nearestAway };

inline constexpr uint64_t roundingMask = 7;
inline constexpr uint64_t formFtz = 8;
inline constexpr uint64_t formSaturate = 16;
inline constexpr uint64_t formNan = 32;     // min.NaN
inline constexpr uint64_t formXorSign = 64; // min.xorsign.abs
inline constexpr uint64_t formRelu = 128;
inline constexpr uint64_t formFinite = 256; // .satfinite
inline constexpr uint64_t formOob = 512;    // fma.oob

// The function to compute; Op::imm holds it from bit 32 on.
enum class Approximation : uint8_t { ex2, rcp, sqrt, rsqrt, lg2, sin, cos, tanh };
enum class HalfOperation : uint8_t {
  add,
  subtract,
  multiply,
  fused,
  minimum,
  maximum,
  negate,
  absolute,
  ex2,
  tanh,
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_FLOATFORMS_H
