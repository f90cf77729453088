#include "tilewright/numerics/Float.h"

#include "tilewright/numerics/FloatRounding.h"
#include "tilewright/numerics/WithType.h"

namespace tilewright::numerics {

using detail::Beyond;

double decode(ElementType type, uint64_t bits) {
  return withReal(type, [&]<ElementType real>() { return detail::decodeAs<real>(bits); });
}

uint64_t encode(ElementType type, double value) {
  return withReal(type, [&]<ElementType real>() { return detail::encodeFrom<real>(value); });
}

uint64_t encodeSaturating(ElementType type, double value) {
  return withReal(
      type, [&]<ElementType real>() { return detail::encodeFrom<real, Beyond::saturate>(value); });
}

double roundToOdd(uint64_t value) {
  const int lost = 11 - std::countl_zero(value | 1);
  if (lost <= 0)
    return static_cast<double>(value);
  const uint64_t kept = value >> lost << lost;
  return static_cast<double>(kept == value ? kept : kept | uint64_t(1) << lost);
}

double roundToOdd(int64_t value) {
  const double magnitude =
      roundToOdd(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  return value < 0 ? -magnitude : magnitude;
}

uint64_t encodeInteger(ElementType type, int64_t value) {
  if (type == ElementType::f64)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  return encode(type, roundToOdd(value));
}

uint64_t encodeUnsigned(ElementType type, uint64_t value) {
  if (type == ElementType::f64)
    return std::bit_cast<uint64_t>(static_cast<double>(value));
  return encode(type, roundToOdd(value));
}

} // namespace tilewright::numerics
