// cvt, one value at a time and exactly: any type, rounding and saturation.
// Frequent forms have vector handlers of their own; this is what they must equal.
#ifndef TILEWRIGHT_VGPU_MACHINE_CONVERSION_H
#define TILEWRIGHT_VGPU_MACHINE_CONVERSION_H

#include "tilewright/vgpu/machine/FloatForms.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <cstdint>

namespace tilewright::vgpu::machine {

/// How to convert. For integers `rounding` is that to an integral value.
struct ConversionForm {
  ptx::Modifier to = ptx::Modifier::none, from = ptx::Modifier::none;
  Rounding rounding = Rounding::nearest;
  bool integral = false; // cvt.rni.f32.f32: to a whole number
  bool ftz = false, saturate = false, relu = false, satfinite = false;
  uint8_t toBytes = 4, fromBytes = 4; // of the registers
};

/// The bits of the result in the type's width. Signed results are extended to 64 bits.
uint64_t convert(const ConversionForm &form, uint64_t bits);

/// (-1)^negative * mantissa * 2^exponent in a float type, rounded once.
uint64_t roundToFloat(ptx::Modifier type, Rounding rounding, bool satfinite, bool negative,
                      uint64_t mantissa, int exponent);
/// The canonical NaN of a float type.
uint64_t canonicalNan(ptx::Modifier type);
/// The exact value of a float type's bits.
double valueOf(ptx::Modifier type, uint64_t bits);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CONVERSION_H
