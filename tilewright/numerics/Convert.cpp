// Every conversion goes through one of two intermediate forms: doubles, if the source or the
// destination is real, or 64 integer bits. A load loop and a store loop for each type cover all
// pairs; the most frequent pairs have a loop of their own.
#include "tilewright/numerics/Convert.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/numerics/FloatRounding.h"
#include "tilewright/numerics/WithType.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tilewright::numerics {
namespace {

/// Elements per step through an intermediate buffer: 4 KiB of doubles.
constexpr size_t chunkSize = 512;

template <size_t bytes> struct Storage;
template <> struct Storage<1> {
  using Bits = uint8_t;
};
template <> struct Storage<2> {
  using Bits = uint16_t;
};
template <> struct Storage<4> {
  using Bits = uint32_t;
};
template <> struct Storage<8> {
  using Bits = uint64_t;
};
template <ElementType type> using BitsOf = typename Storage<storageBytes(type)>::Bits;

template <typename T> T load(const std::byte *src, size_t index) {
  T value;
  std::memcpy(&value, src + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T> void store(std::byte *dst, size_t index, T value) {
  std::memcpy(dst + index * sizeof(T), &value, sizeof(T));
}

/// The 64-bit two's complement value of an integer or pred element.
template <ElementType type> uint64_t loadInteger(const std::byte *src, size_t index) {
  constexpr unsigned unused = 64 - bitWidth(type);
  const uint64_t bits = load<BitsOf<type>>(src, index);
  if constexpr (type == ElementType::pred)
    return bits != 0;
  else if constexpr (isSigned(type))
    return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
  else
    return bits << unused >> unused;
}

template <ElementType type> void storeInteger(std::byte *dst, size_t index, uint64_t value) {
  if constexpr (type == ElementType::pred)
    value = value != 0;
  store(dst, index, static_cast<BitsOf<type>>(value & ~uint64_t(0) >> (64 - bitWidth(type))));
}

/// All values of a format of at most eight bits.
template <ElementType type>
constexpr auto valueTable = [] {
  std::array<double, 256> table{};
  for (unsigned bits = 0; bits < table.size(); ++bits)
    table[bits] = detail::decodeAs<type>(bits);
  return table;
}();

template <ElementType type> double loadReal(const std::byte *src, size_t index) {
  if constexpr (storageBytes(type) == 1)
    return valueTable<type>[load<uint8_t>(src, index)];
  else
    return detail::decodeAs<type>(load<BitsOf<type>>(src, index));
}

/// Converts integers to doubles that round to the same values of type `to` as the integers do.
void integersToReals(ElementType from, const std::byte *src, ElementType to, double *dst,
                     size_t count) {
  withInteger(from, [&]<ElementType type>() {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t value = loadInteger<type>(src, i);
      if constexpr (bitWidth(type) < 64)
        dst[i] = static_cast<double>(static_cast<int64_t>(value));
      else if (to == ElementType::f64)
        dst[i] = isSigned(type) ? static_cast<double>(static_cast<int64_t>(value))
                                : static_cast<double>(value);
      else
        dst[i] = isSigned(type) ? roundToOdd(static_cast<int64_t>(value)) : roundToOdd(value);
    }
  });
}

void realsToIntegers(const double *src, ElementType to, std::byte *dst, size_t count) {
  withInteger(to, [&]<ElementType type>() {
    constexpr unsigned bits = bitWidth(type);
    for (size_t i = 0; i < count; ++i) {
      if constexpr (type == ElementType::pred)
        storeInteger<type>(dst, i, src[i] != 0);
      else if constexpr (isSigned(type))
        storeInteger<type>(dst, i, static_cast<uint64_t>(truncateToSigned(src[i], bits)));
      else
        storeInteger<type>(dst, i, truncateToUnsigned(src[i], bits));
    }
  });
}

void integersToIntegers(ElementType from, const std::byte *src, ElementType to, std::byte *dst,
                        size_t count) {
  uint64_t chunk[chunkSize];
  for (size_t done = 0; done < count; done += chunkSize) {
    const size_t n = std::min(chunkSize, count - done);
    withInteger(from, [&]<ElementType type>() {
      const std::byte *start = src + done * storageBytes(type);
      for (size_t i = 0; i < n; ++i)
        chunk[i] = loadInteger<type>(start, i);
    });
    withInteger(to, [&]<ElementType type>() {
      std::byte *start = dst + done * storageBytes(type);
      for (size_t i = 0; i < n; ++i)
        storeInteger<type>(start, i, chunk[i]);
    });
  }
}

/// Elements `first`, `first + step`, … of a buffer of reals.
void gatherReals(ElementType from, const std::byte *src, size_t step, double *dst, size_t count) {
  withReal(from, [&]<ElementType type>() {
    for (size_t i = 0; i < count; ++i)
      dst[i] = loadReal<type>(src, i * step);
  });
}

void scatterReals(ElementType to, const double *src, size_t step, std::byte *dst, size_t count) {
  withReal(to, [&]<ElementType type>() {
    for (size_t i = 0; i < count; ++i)
      store(dst, i * step, static_cast<BitsOf<type>>(detail::encodeFrom<type>(src[i])));
  });
}

/// Converts through doubles: all pairs except integer to integer.
void convertThroughReals(ElementType from, const std::byte *src, ElementType to, std::byte *dst,
                         size_t count) {
  const size_t fromStep = isComplex(from) ? 2 : 1, toStep = isComplex(to) ? 2 : 1;
  const ElementType toReal = componentOf(to);
  const size_t imaginaryFrom = storageBytes(componentOf(from)), imaginaryTo = storageBytes(toReal);
  double chunk[chunkSize];
  for (size_t done = 0; done < count; done += chunkSize) {
    const size_t n = std::min(chunkSize, count - done);
    const std::byte *in = src + done * storageBytes(from);
    std::byte *out = dst + done * storageBytes(to);
    if (isReal(from) || isComplex(from))
      gatherReals(componentOf(from), in, fromStep, chunk, n);
    else
      integersToReals(from, in, toReal, chunk, n);

    if (!isComplex(to)) {
      if (isReal(to))
        scatterReals(to, chunk, 1, out, n);
      else
        realsToIntegers(chunk, to, out, n);
      continue;
    }
    // Read both components before writing either: the buffers may be the same.
    double imaginary[chunkSize] = {};
    if (isComplex(from))
      gatherReals(componentOf(from), in + imaginaryFrom, 2, imaginary, n);
    scatterReals(toReal, chunk, toStep, out, n);
    scatterReals(toReal, imaginary, toStep, out + imaginaryTo, n);
  }
}

/// Converts f32 to any real type directly, without doubles.
void convertFromF32(const std::byte *src, ElementType to, std::byte *dst, size_t count) {
  withReal(to, [&]<ElementType type>() {
    for (size_t i = 0; i < count; ++i)
      store(dst, i, static_cast<BitsOf<type>>(detail::encodeFrom<type>(load<float>(src, i))));
  });
}

template <ElementType type> void convertToF32(const std::byte *src, std::byte *dst, size_t count) {
  for (size_t i = 0; i < count; ++i)
    store(dst, i, detail::decodeAs<type, float>(load<BitsOf<type>>(src, i)));
}

} // namespace

void convert(ElementType from, const std::byte *src, ElementType to, std::byte *dst, size_t count) {
  const bool throughReals = isReal(from) || isComplex(from) || isReal(to) || isComplex(to);
  if (from == to && bitWidth(from) % 8 == 0 && from != ElementType::tf32) {
    std::memmove(dst, src, count * storageBytes(from));
    return;
  }
  if (!throughReals)
    return integersToIntegers(from, src, to, dst, count);
  if (from == ElementType::f32 && isReal(to))
    return convertFromF32(src, to, dst, count);
  if (from == ElementType::bf16 && to == ElementType::f32)
    return convertToF32<ElementType::bf16>(src, dst, count);
  if (from == ElementType::f16 && to == ElementType::f32)
    return convertToF32<ElementType::f16>(src, dst, count);
  convertThroughReals(from, src, to, dst, count);
}

void decode(ElementType from, const std::byte *src, double *dst, size_t count) {
  gatherReals(from, src, 1, dst, count);
}

void encode(ElementType to, const double *src, std::byte *dst, size_t count) {
  scatterReals(to, src, 1, dst, count);
}

} // namespace tilewright::numerics
