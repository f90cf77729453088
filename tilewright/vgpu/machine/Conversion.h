// Exact cvt of one value, for any type, rounding and saturation. Frequent forms have their own
// vector handlers, which must give the same results.
#ifndef TILEWRIGHT_VGPU_MACHINE_CONVERSION_H
#define TILEWRIGHT_VGPU_MACHINE_CONVERSION_H

#include "tilewright/vgpu/machine/decode/FloatForms.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <cstdint>
#include <span>

namespace tilewright::vgpu::machine {

/// The form of a conversion. For integer results, `rounding` rounds to an integral value.
struct ConversionForm {
  ptx::Modifier to = ptx::Modifier::none, from = ptx::Modifier::none;
  Rounding rounding = Rounding::nearest;
  bool integral = false; // cvt.rni.f32.f32: round to an integral value
  bool ftz = false, saturate = false, relu = false, satfinite = false;
  uint8_t toBytes = 4, fromBytes = 4; // of the registers
};

/// Converts one value. The result has the width of its type; signed results are sign-extended to 64
/// bits.
uint64_t convert(const ConversionForm &form, uint64_t bits);

/// cvt.rs: two or four values of f32, the first one in the highest bits of the result. A value is
/// rounded away from zero if its bits of `random`, added to the discarded bits, give a carry.
uint64_t convertRandomly(const ConversionForm &form, std::span<const uint32_t> values,
                         uint32_t random);

/// The value (-1)^negative * mantissa * 2^exponent, rounded once to a float type.
uint64_t roundToFloat(ptx::Modifier type, Rounding rounding, bool satfinite, bool negative,
                      uint64_t mantissa, int exponent);
/// The canonical NaN of a float type.
uint64_t canonicalNan(ptx::Modifier type);
/// The exact value of a number of a float type, given as bits.
double valueOf(ptx::Modifier type, uint64_t bits);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CONVERSION_H
