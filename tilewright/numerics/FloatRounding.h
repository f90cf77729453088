// The conversions behind Float.h and Convert.h, with the format as a template argument so that
// loops over buffers compile to straight-line code.
#ifndef TILEWRIGHT_NUMERICS_FLOATROUNDING_H
#define TILEWRIGHT_NUMERICS_FLOATROUNDING_H

#include "tilewright/numerics/FloatFormat.h"

#include <bit>
#include <type_traits>
#include <utility>

namespace tilewright::numerics::detail {

/// How a value whose magnitude exceeds the largest finite value is rounded.
enum class Beyond : uint8_t { asFormat, saturate };

/// 2^exponent, for exponents of normal numbers.
template <typename Wide> constexpr Wide powerOfTwo(int exponent) {
  if constexpr (std::is_same_v<Wide, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
  else
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

/// The exact value of a bit pattern of the type. `Wide` must be able to represent it.
template <ElementType type, typename Wide = double> constexpr Wide decodeAs(uint64_t raw) {
  static_assert(std::is_same_v<Wide, double> || type != ElementType::f8E8M0FNU,
                "2^-127 is subnormal in f32, which this code does not produce");
  constexpr FloatFormat format = floatFormat(type);
  if constexpr (type == ElementType::f64)
    return std::bit_cast<double>(raw);
  if constexpr (type == ElementType::f32)
    return static_cast<Wide>(std::bit_cast<float>(static_cast<uint32_t>(raw)));

  using Bits = std::conditional_t<std::is_same_v<Wide, float>, uint32_t, uint64_t>;
  constexpr FloatFormat wide =
      floatFormat(std::is_same_v<Wide, float> ? ElementType::f32 : ElementType::f64);
  const auto bits = static_cast<Bits>(raw >> format.paddingBits);
  const Bits magnitude = bits & static_cast<Bits>(format.magnitudeMask());
  const bool negative = (bits & format.signBit()) != 0;

  const bool isNan = format.nan == NanEncoding::ieee           ? magnitude > format.infinity()
                     : format.nan == NanEncoding::allOnes      ? magnitude == format.magnitudeMask()
                     : format.nan == NanEncoding::negativeZero ? magnitude == 0 && negative
                                                               : false;
  Bits result;
  if (isNan)
    result = static_cast<Bits>(wide.quietNan());
  else if (format.hasInfinity && magnitude == format.infinity())
    result = static_cast<Bits>(wide.infinity());
  else if (format.hasSubnormals() && magnitude <= format.mantissaMask())
    // If the biases are equal, a subnormal only needs a shift. Otherwise the product is exact.
    result = format.bias == wide.bias
                 ? static_cast<Bits>(magnitude << (wide.mantissaBits - format.mantissaBits))
                 : std::bit_cast<Bits>(static_cast<Wide>(magnitude) *
                                       powerOfTwo<Wide>(format.minQuantum()));
  else
    result = static_cast<Bits>((magnitude << (wide.mantissaBits - format.mantissaBits)) +
                               (static_cast<Bits>(wide.bias - format.bias) << wide.mantissaBits));
  // The NaN of a "UZ" format has its sign bit set and decodes to a negative NaN, as in ml_dtypes.
  if (negative)
    result |= static_cast<Bits>(wide.signBit());
  return std::bit_cast<Wide>(result);
}

/// The bit pattern of the nearest value of the type, ties to even.
template <ElementType type, Beyond beyond = Beyond::asFormat, typename Wide>
constexpr uint64_t encodeFrom(Wide value) {
  using Bits = std::conditional_t<std::is_same_v<Wide, float>, uint32_t, uint64_t>;
  constexpr FloatFormat wide =
      floatFormat(std::is_same_v<Wide, float> ? ElementType::f32 : ElementType::f64);
  constexpr FloatFormat format = floatFormat(type);
  constexpr bool saturate = beyond == Beyond::saturate;

  if constexpr (type == ElementType::f64 && !saturate) {
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  } else if constexpr (type == ElementType::f32 && !saturate) {
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  } else if constexpr (type == ElementType::f64 && std::is_same_v<Wide, float>) {
    return encodeFrom<type, beyond>(static_cast<double>(value));
  } else if constexpr (type == ElementType::f8E8M0FNU) {
    // The format has one significant bit: halfway values round up, to the even significand 2.
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(value));
    if (bits - 1 >= 0x7ff0000000000000u)
      // Zero, negative, infinite or NaN. Of these only +infinity saturates.
      return saturate && bits == 0x7ff0000000000000u ? format.maxFinite() : format.quietNan();
    const auto exponent =
        static_cast<int64_t>((bits + (uint64_t(1) << 51)) >> 52) - (1023 - format.bias);
    if (exponent > int64_t(format.maxFinite()))
      return saturate ? format.maxFinite() : format.overflow();
    return exponent < 0 ? 0 : static_cast<uint64_t>(exponent);
  } else {
    const auto bits = std::bit_cast<Bits>(value);
    const Bits magnitude = bits & static_cast<Bits>(wide.magnitudeMask());
    const bool negative = magnitude != bits;
    constexpr unsigned shift = wide.mantissaBits - format.mantissaBits;

    // Normal results: round in the bits of the wide format, then adjust the bias. A carry out of
    // the mantissa correctly increments the exponent.
    Bits result = magnitude;
    if constexpr (shift > 0)
      result += (Bits(1) << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    result =
        (result >> shift) - (static_cast<Bits>(wide.bias - format.bias) << format.mantissaBits);

    // Subnormal results: add a power of two whose last mantissa bit is worth one quantum. The
    // addition rounds, and the low bits of the sum are the number of quanta. If the biases are
    // equal, the subnormals of both formats coincide and the code above is enough.
    if constexpr (wide.bias != format.bias) {
      constexpr Wide magic = powerOfTwo<Wide>(wide.mantissaBits + format.minQuantum());
      constexpr auto minNormal = std::bit_cast<Bits>(powerOfTwo<Wide>(format.minExponent()));
      const Wide sum = std::bit_cast<Wide>(magnitude) + magic;
      const Bits count = std::bit_cast<Bits>(sum) - std::bit_cast<Bits>(magic);
      result = magnitude < minNormal ? count : result;
    }

    if (result > format.maxFinite() || magnitude >= wide.infinity())
      result = static_cast<Bits>(saturate ? format.maxFinite() : format.overflow());
    const bool isNan = magnitude > wide.infinity();
    if (isNan)
      result = static_cast<Bits>(format.quietNan());
    Bits sign = negative ? static_cast<Bits>(format.signBit()) : 0;
    if constexpr (format.zero == ZeroEncoding::plusOnly)
      sign = result == 0 || result == format.quietNan() ? 0 : sign;
    return static_cast<uint64_t>(result ^ sign) << format.paddingBits;
  }
}

} // namespace tilewright::numerics::detail

#endif // TILEWRIGHT_NUMERICS_FLOATROUNDING_H
