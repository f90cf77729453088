#include "tilewright/vgpu/machine/Conversion.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/FloatFormat.h"

#include <bit>
#include <cmath>

namespace tilewright::vgpu::machine {

using numerics::ElementType;
using numerics::FloatFormat;
using ptx::Modifier;

static ElementType elementOf(Modifier type) {
  switch (type) {
  case Modifier::f16:
  case Modifier::f16x2:
    return ElementType::f16;
  case Modifier::bf16:
  case Modifier::bf16x2:
    return ElementType::bf16;
  case Modifier::tf32:
    return ElementType::tf32;
  case Modifier::f64:
    return ElementType::f64;
  case Modifier::e4m3:
  case Modifier::e4m3x2:
  case Modifier::e4m3x4:
    return ElementType::f8E4M3FN;
  case Modifier::e5m2:
  case Modifier::e5m2x2:
  case Modifier::e5m2x4:
    return ElementType::f8E5M2;
  case Modifier::e2m1:
  case Modifier::e2m1x2:
  case Modifier::e2m1x4:
    return ElementType::f4E2M1FN;
  case Modifier::e2m3:
  case Modifier::e2m3x2:
  case Modifier::e2m3x4:
    return ElementType::f6E2M3FN;
  case Modifier::e3m2:
  case Modifier::e3m2x2:
  case Modifier::e3m2x4:
    return ElementType::f6E3M2FN;
  case Modifier::ue8m0:
  case Modifier::ue8m0x2:
    return ElementType::f8E8M0FNU;
  default:
    return ElementType::f32;
  }
}
static bool isFloat(Modifier type) {
  ptx::TypeCategory category = ptx::categoryOf(type);
  return category == ptx::TypeCategory::floating || category == ptx::TypeCategory::packedFloat ||
         category == ptx::TypeCategory::bitsOfFloat;
}
static bool isSigned(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
}

double valueOf(Modifier type, uint64_t bits) {
  const ElementType element = elementOf(type);
  // A 6-bit element occupies a byte, whose upper bits are ignored.
  if (element == ElementType::f6E2M3FN || element == ElementType::f6E3M2FN)
    bits &= 63;
  return numerics::decode(element, bits);
}

uint64_t canonicalNan(Modifier type) {
  switch (elementOf(type)) {
  case ElementType::f64:
    return 0x7ff8000000000000u;
  case ElementType::f16:
  case ElementType::bf16:
    return 0x7fff;
  case ElementType::f8E4M3FN:
  case ElementType::f8E5M2:
    return 0x7f;
  // These types have no NaN: the largest value takes its place.
  case ElementType::f4E2M1FN:
  case ElementType::f6E2M3FN:
  case ElementType::f6E3M2FN:
    return numerics::formatOf(elementOf(type)).maxFinite();
  case ElementType::f8E8M0FNU:
    return 0xff;
  default:
    return 0x7fffffffu;
  }
}

/// Whether to round the magnitude up. `halfway` is the result of comparing the discarded part with
/// half a unit.
static bool roundsUp(Rounding rounding, bool negative, bool isOdd, int halfway, bool isExact) {
  switch (rounding) {
  case Rounding::nearest:
    return halfway > 0 || (halfway == 0 && isOdd);
  case Rounding::nearestAway:
    return halfway >= 0;
  case Rounding::zero:
    return false;
  case Rounding::down:
    return negative && !isExact;
  case Rounding::up:
    return !negative && !isExact;
  }
  return false;
}

/// mantissa / 2^shift, rounded to an integer.
static uint64_t shiftRounded(Rounding rounding, bool negative, uint64_t mantissa, int shift) {
  if (shift <= 0)
    return mantissa << -shift;
  const uint64_t kept = shift > 63 ? 0 : mantissa >> shift;
  const uint64_t rest = shift > 63 ? mantissa : mantissa & ((uint64_t(1) << shift) - 1);
  int halfway = -1;
  if (shift <= 64) {
    const uint64_t half = uint64_t(1) << (shift - 1);
    halfway = rest == half ? 0 : rest > half ? 1 : -1;
  }
  return kept + (roundsUp(rounding, negative, kept & 1, halfway, rest == 0) ? 1 : 0);
}

/// The bits of (-1)^negative * kept * 2^quantum, or the largest value or an overflow if they are
/// beyond the format.
static uint64_t encoded(const FloatFormat &format, bool negative, uint64_t kept, int quantum,
                        bool isSaturated) {
  // The implicit leading bit of `kept` adds one to the exponent field; a carry of the rounding adds
  // another.
  uint64_t bits =
      (static_cast<uint64_t>(quantum - format.minQuantum()) << format.mantissaBits) + kept;
  if (quantum > 2000 || bits > format.maxFinite())
    bits = isSaturated ? format.maxFinite() : format.overflow();
  return (bits | (negative ? format.signBit() : 0)) << format.paddingBits;
}

uint64_t roundToFloat(Modifier type, Rounding rounding, bool satfinite, bool negative,
                      uint64_t mantissa, int exponent) {
  const FloatFormat format = numerics::formatOf(elementOf(type));
  if (mantissa == 0)
    return encoded(format, negative, 0, format.minQuantum(), satfinite);
  const int top = exponent + 63 - std::countl_zero(mantissa);
  const int quantum = std::max(top - format.mantissaBits, format.minQuantum());
  const uint64_t kept = shiftRounded(rounding, negative, mantissa, quantum - exponent);
  const bool stays = satfinite || rounding == Rounding::zero ||
                     (rounding == Rounding::down && !negative) ||
                     (rounding == Rounding::up && negative);
  return encoded(format, negative, kept, quantum, stays);
}

namespace {
/// A number split into mantissa * 2^exponent.
struct Parts {
  bool isNan = false, isInfinite = false, negative = false;
  uint64_t mantissa = 0;
  int exponent = 0;
};
} // namespace

static Parts takeApart(const ConversionForm &form, uint64_t bits) {
  Parts parts;
  // For a packed pair the caller passes one half; clear the bits above it.
  const unsigned width = ptx::bitsOf(form.from);
  if (width < 64)
    bits &= (uint64_t(1) << width) - 1;
  if (!isFloat(form.from)) {
    parts.negative = isSigned(form.from) && (bits >> (width - 1) & 1);
    if (parts.negative)
      bits = width < 64 ? (uint64_t(1) << width) - bits : uint64_t(0) - bits;
    parts.mantissa = bits;
    return parts;
  }
  const double value = valueOf(form.from, bits);
  parts.negative = std::signbit(value);
  parts.isNan = std::isnan(value);
  parts.isInfinite = std::isinf(value);
  if (parts.isNan || parts.isInfinite || value == 0)
    return parts;
  const bool isSubnormal = form.from == Modifier::f32 && std::abs(value) < 0x1p-126;
  if (form.ftz && isSubnormal)
    return parts;
  const auto raw = std::bit_cast<uint64_t>(value);
  const int field = static_cast<int>(raw >> 52 & 0x7ff);
  parts.mantissa = (raw & 0xfffffffffffffu) | (field ? uint64_t(1) << 52 : 0);
  parts.exponent = (field ? field : 1) - 1075;
  return parts;
}

static uint64_t toInteger(const ConversionForm &form, const Parts &parts) {
  const unsigned width = ptx::bitsOf(form.to);
  const bool hasSign = isSigned(form.to);
  const uint64_t most = hasSign       ? (uint64_t(1) << (width - 1)) - 1
                        : width == 64 ? ~uint64_t(0)
                                      : (uint64_t(1) << width) - 1;
  const uint64_t least = hasSign ? most + 1 : 0; // magnitude of the lowest value
  const bool fromFloat = isFloat(form.from);
  if (parts.isNan) {
    const bool isWide = form.from == Modifier::f64 || width == 64;
    const uint64_t nan = isWide ? uint64_t(1) << (width - 1) : 0;
    return hasSign && nan ? ~uint64_t(0) << (width - 1) : nan;
  }
  uint64_t magnitude = parts.mantissa;
  bool beyond = parts.isInfinite;
  if (fromFloat && !beyond) {
    if (parts.exponent > 11)
      beyond = parts.mantissa != 0;
    else
      magnitude = shiftRounded(form.rounding, parts.negative, parts.mantissa, -parts.exponent);
  }
  // Integers wrap unless .sat is given; floats are always clamped.
  if (fromFloat || form.saturate) {
    if (parts.negative && (beyond || magnitude > least))
      return hasSign ? uint64_t(0) - least : 0;
    if (!parts.negative && (beyond || magnitude > most))
      return most;
  }
  const uint64_t value = parts.negative ? uint64_t(0) - magnitude : magnitude;
  if (width == 64)
    return value;
  const uint64_t low = value & ((uint64_t(1) << width) - 1);
  return hasSign && (low >> (width - 1)) ? low | ~uint64_t(0) << width : low;
}

/// The exponent of the magnitude as a ue8m0, rounded down or up. Zero becomes the smallest scale.
static uint64_t toScale(const ConversionForm &form, const Parts &parts) {
  constexpr int bias = 127, largest = 254;
  const int overflow = form.satfinite ? largest : 255;
  if (parts.isInfinite)
    return static_cast<uint64_t>(overflow);
  if (parts.mantissa == 0)
    return 0;
  int exponent = parts.exponent + 63 - std::countl_zero(parts.mantissa);
  if (form.rounding == Rounding::up && !std::has_single_bit(parts.mantissa))
    ++exponent;
  const int scale = std::max(exponent + bias, 0);
  return static_cast<uint64_t>(scale > largest ? overflow : scale);
}

/// The bits of `random` for value `index` of two or four. PTX shows them in figures; those of four
/// values were measured on a B200: two values share 16 bits, which the first one reads backwards.
static uint32_t randomFor(Modifier to, uint32_t random, size_t index, size_t count) {
  if (count == 2)
    return random >> (index == 0 ? 16 : 0) & (to == Modifier::f16x2 ? 0x1fffu : 0xffffu);
  const unsigned pair = index / 2;
  uint32_t field = random >> (pair == 0 ? 16 : 0) & 0xffff;
  if (to == Modifier::e2m1x4) { // a byte of each half
    const unsigned low = pair == 0 ? 8 : 0;
    field = (random >> low & 0xff) | (random >> (low + 16) & 0xff) << 8;
  }
  return index % 2 == 0 ? __builtin_bitreverse16(static_cast<uint16_t>(field)) : field;
}

/// Rounds one value. Adds the `randomBits` bits of `random` to the highest of the bits that are
/// discarded.
static uint64_t roundRandomly(const ConversionForm &form, uint32_t value, uint32_t random,
                              int randomBits) {
  const Parts parts = takeApart(form, value);
  if (parts.isNan)
    return canonicalNan(form.to);
  if (form.relu && parts.negative)
    return 0;
  if (parts.isInfinite || parts.mantissa == 0) // no bits are discarded
    return convert(form, value);
  const FloatFormat format = numerics::formatOf(elementOf(form.to));
  // A mantissa of f32 has 24 bits, so the sum fits in 64.
  const uint64_t mantissa = parts.mantissa >> 29;
  const int exponent = parts.exponent + 29;
  const int top = exponent + 63 - std::countl_zero(mantissa);
  const int quantum = std::max(top - format.mantissaBits, format.minQuantum());
  const int discarded = quantum - exponent;
  uint64_t kept = 0;
  if (discarded < 64)
    kept = (mantissa + (uint64_t(random) << (discarded - randomBits))) >> discarded;
  return encoded(format, parts.negative, kept, quantum, form.satfinite);
}

uint64_t convertRandomly(const ConversionForm &form, std::span<const uint32_t> values,
                         uint32_t random) {
  const auto bits = static_cast<unsigned>(ptx::bitsOf(form.to) / values.size());
  const int randomBits = form.to == Modifier::f16x2 ? 13 : 16;
  uint64_t result = 0;
  for (size_t i = 0; i < values.size(); ++i)
    result =
        result << bits |
        roundRandomly(form, values[i], randomFor(form.to, random, i, values.size()), randomBits);
  return result;
}

uint64_t convert(const ConversionForm &form, uint64_t bits) {
  Parts parts = takeApart(form, bits);
  if (!isFloat(form.to))
    return toInteger(form, parts);
  if (parts.isNan)
    return form.saturate ? 0 : canonicalNan(form.to);
  if (form.to == Modifier::ue8m0x2)
    return toScale(form, parts);
  if (form.relu && parts.negative)
    return 0;
  if (form.saturate) {
    if (parts.negative)
      return 0;
    const bool isAboveOne =
        parts.isInfinite ||
        (parts.mantissa && parts.exponent + 63 - std::countl_zero(parts.mantissa) >= 0);
    if (isAboveOne)
      return roundToFloat(form.to, Rounding::nearest, false, false, 1, 0);
  }
  const FloatFormat format = numerics::formatOf(elementOf(form.to));
  if (parts.isInfinite) {
    const uint64_t magnitude = form.satfinite ? format.maxFinite() : format.overflow();
    return (magnitude | (parts.negative ? format.signBit() : 0)) << format.paddingBits;
  }
  if (form.integral && parts.exponent < 0) {
    parts.mantissa = shiftRounded(form.rounding, parts.negative, parts.mantissa, -parts.exponent);
    parts.exponent = 0;
  }
  uint64_t result = roundToFloat(form.to, form.integral ? Rounding::nearest : form.rounding,
                                 form.satfinite, parts.negative, parts.mantissa, parts.exponent);
  if (form.ftz && form.to == Modifier::f32 && (result & 0x7f800000u) == 0)
    result &= 0x80000000u;
  return result;
}

} // namespace tilewright::vgpu::machine
