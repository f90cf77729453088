#include "tilewright/numerics/scalar/Scalar.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/scalar/Rounding.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace tilewright::numerics {

/// The unsigned integer type with the size of an element of `type`.
template <ElementType type>
using StorageOf = std::conditional_t<
    numerics::storageBytes(type) == 1, uint8_t,
    std::conditional_t<numerics::storageBytes(type) == 2, uint16_t,
                       std::conditional_t<numerics::storageBytes(type) == 4, uint32_t, uint64_t>>>;

template <typename Value> static Value read(const std::byte *data) {
  Value value;
  std::memcpy(&value, data, sizeof value);
  return value;
}
template <typename Value> static void write(std::byte *data, Value value) {
  std::memcpy(data, &value, sizeof value);
}

template <ElementType type> static Scalar load(const std::byte *data) {
  if constexpr (type == ElementType::c64)
    return Scalar::ofComplex({read<float>(data), read<float>(data + 4)});
  else if constexpr (type == ElementType::c128)
    return Scalar::ofComplex({read<double>(data), read<double>(data + 8)});
  else if constexpr (type == ElementType::f32)
    return Scalar::ofReal(read<float>(data));
  else if constexpr (type == ElementType::f64)
    return Scalar::ofReal(read<double>(data));
  else if constexpr (numerics::isReal(type))
    return Scalar::ofReal(numerics::detail::decodeAs<type>(read<StorageOf<type>>(data)));
  else if constexpr (type == ElementType::pred)
    return Scalar::ofUnsigned(read<uint8_t>(data) != 0);
  else
    return wrapTo<type>(read<StorageOf<type>>(data));
}

template <ElementType type> static void store(std::byte *data, const Scalar &value) {
  if constexpr (type == ElementType::c64) {
    write(data, static_cast<float>(value.r));
    write(data + 4, static_cast<float>(value.im));
  } else if constexpr (type == ElementType::c128) {
    write(data, value.r);
    write(data + 8, value.im);
  } else if constexpr (type == ElementType::f32) {
    write(data, static_cast<float>(value.r));
  } else if constexpr (type == ElementType::f64) {
    write(data, value.r);
  } else if constexpr (numerics::isReal(type)) {
    write(data, static_cast<StorageOf<type>>(numerics::detail::encodeFrom<type>(value.r)));
  } else {
    // Integers of 2 and 4 bits occupy the low bits of their byte, with zeros above, as in portable
    // artifacts, so that equal elements have equal bytes.
    constexpr unsigned bits = numerics::bitWidth(type);
    constexpr uint64_t mask =
        bits < 8 && type != ElementType::pred ? (1u << bits) - 1 : ~uint64_t(0);
    write(data, static_cast<StorageOf<type>>(value.u & mask));
  }
}

Scalar loadScalar(ElementType type, const std::byte *data) {
  return withType(type, [&]<ElementType element>() { return load<element>(data); });
}

void storeScalar(ElementType type, std::byte *data, const Scalar &value) {
  withType(type, [&]<ElementType element>() { store<element>(data, value); });
}

void loadScalars(ElementType type, const std::byte *data, int64_t count, Scalar *values) {
  withType(type, [&]<ElementType element>() {
    for (int64_t i = 0; i < count; ++i)
      values[i] = load<element>(data + i * int64_t(numerics::storageBytes(element)));
  });
}

void storeScalars(ElementType type, std::byte *data, int64_t count, const Scalar *values) {
  withType(type, [&]<ElementType element>() {
    for (int64_t i = 0; i < count; ++i)
      store<element>(data + i * int64_t(numerics::storageBytes(element)), values[i]);
  });
}

static Scalar ofDouble(ElementType type, double value) {
  if (numerics::isReal(type) || numerics::isComplex(type))
    return Scalar::ofReal(value);
  return Scalar::ofSigned(static_cast<int64_t>(value));
}

Scalar zeroOf(ElementType type) {
  // f8E8M0FNU has no zero; its smallest value is the nearest to zero.
  return type == ElementType::f8E8M0FNU ? lowestOf(type) : ofDouble(type, 0);
}

Scalar oneOf(ElementType type) { return ofDouble(type, 1); }

/// The largest magnitude of a real type: infinity if the type has one, otherwise the largest finite
/// number.
static double largestOf(ElementType type) {
  const numerics::FloatFormat format = numerics::formatOf(type);
  return numerics::decode(type, (format.hasInfinity ? format.infinity() : format.maxFinite())
                                    << format.paddingBits);
}

static constexpr double infinity = std::numeric_limits<double>::infinity();

Scalar highestOf(ElementType type) {
  if (numerics::isReal(type))
    return Scalar::ofReal(largestOf(type));
  if (numerics::isComplex(type))
    return Scalar::ofComplex({infinity, infinity});
  const unsigned bits = numerics::bitWidth(type) - (numerics::isSigned(type) ? 1 : 0);
  return Scalar::ofUnsigned(~uint64_t(0) >> (64 - bits));
}

Scalar lowestOf(ElementType type) {
  if (type == ElementType::f8E8M0FNU)
    return Scalar::ofReal(0x1p-127);
  if (numerics::isReal(type))
    return Scalar::ofReal(-largestOf(type));
  if (numerics::isComplex(type))
    return Scalar::ofComplex({-infinity, -infinity});
  if (!numerics::isSigned(type))
    return Scalar::ofUnsigned(0);
  return Scalar::ofSigned(-highestOf(type).i - 1);
}

} // namespace tilewright::numerics
