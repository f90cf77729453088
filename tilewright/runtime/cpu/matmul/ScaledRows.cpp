#include "tilewright/runtime/cpu/matmul/ScaledRows.h"

#include "tilewright/numerics/Convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::runtime::cpu {

static ElementType unpacked(ElementType element) {
  return element == ScaledRows::packed ? ElementType::f4E2M1FN : element;
}

/// Converts every byte, read as an element of type `from`.
template <typename T> static void tabulate(ElementType from, ElementType to, T (&table)[256]) {
  std::array<std::byte, 256> bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i);
  numerics::convert(from, bytes.data(), to, reinterpret_cast<std::byte *>(table), bytes.size());
}

static bool isByteOfReal(ElementType type) {
  return numerics::isReal(type) && numerics::bitWidth(type) <= 8;
}

static float valueOf(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }

bool ScaledRows::supports(ElementType element, ElementType scale) {
  element = unpacked(element);
  if (!isByteOfReal(element) || !isByteOfReal(scale))
    return false;
  uint16_t elements[256];
  float scales[256];
  tabulate(element, ElementType::bf16, elements);
  tabulate(scale, ElementType::f32, scales);
  for (const uint16_t each : elements)
    for (const float by : scales) {
      const float product = valueOf(each) * by;
      const bool isNormal =
          std::isfinite(product) && std::fabs(product) >= std::numeric_limits<float>::min();
      if (isNormal && (std::bit_cast<uint32_t>(product) & 0xffff))
        return false;
    }
  return true;
}

template <bool isPacked, typename Factor>
static void decodePart(const ScaledTables &tables, const ScaledPart &part, void *to) {
  Factor *out = static_cast<Factor *>(to);
  for (int64_t k = part.begin; k < part.end;) {
    const int64_t block = k / part.block;
    const float scale = tables.scales[part.scales[block]];
    const int64_t end = std::min(part.end, (block + 1) * part.block);
    for (; k < end; ++k) {
      const int bits = isPacked ? (part.elements[k / 2] >> (k % 2 * 4)) & 0xf : part.elements[k];
      const float factor = valueOf(tables.elements[bits]) * scale;
      if constexpr (sizeof(Factor) == sizeof(float))
        *out++ = factor;
      else
        *out++ = static_cast<uint16_t>(std::bit_cast<uint32_t>(factor) >> 16);
    }
  }
}

static DecodeScaled portableDecoder(bool isPacked, bool toF32) {
  if (isPacked)
    return toF32 ? decodePart<true, float> : decodePart<true, uint16_t>;
  return toF32 ? decodePart<false, float> : decodePart<false, uint16_t>;
}

/// The bit that only changes the sign of an element, if AVX-512 can decode the type; 0 if no
/// element has more than 7 bits. False if it cannot decode it.
static bool findSign(ElementType element, ScaledTables &tables) {
  tables.signBit = 0;
  if (numerics::bitWidth(element) < 8)
    return true;
  tables.signBit = 0x80;
  for (size_t i = 0; i < 128; ++i) {
    const uint16_t positive = tables.elements[i], negative = tables.elements[i + 128];
    const bool areNan = std::isnan(valueOf(positive)) && std::isnan(valueOf(negative));
    if (negative != (positive ^ 0x8000) && !areNan)
      return false;
  }
  return true;
}

ScaledRows::ScaledRows(const CpuFeatures &features, ElementType element, ElementType scale,
                       int64_t block, int64_t length, ElementType factor)
    : block(block), length(length), rowScales(length / block + (length % block != 0)),
      bytesOfFactor(static_cast<int64_t>(numerics::storageBytes(factor))) {
  const bool isPacked = element == packed, toF32 = factor == ElementType::f32;
  rowBytes = isPacked ? length / 2 : length;
  element = unpacked(element);
  tabulate(element, ElementType::bf16, tables.elements);
  tabulate(scale, ElementType::f32, tables.scales);
  for (size_t i = 0; i < 128; ++i) {
    tables.low[i] = static_cast<uint8_t>(tables.elements[i]);
    tables.high[i] = static_cast<uint8_t>(tables.elements[i] >> 8);
  }
  decoder = nullptr;
#if defined(__x86_64__)
  if (features.avx512Vbmi && findSign(element, tables))
    decoder = avx512Decoder(isPacked, block, toF32);
#endif
  if (!decoder)
    decoder = portableDecoder(isPacked, toF32);
}

void ScaledRows::decode(const std::byte *elements, const std::byte *scales, int64_t row,
                        int64_t begin, int64_t end, void *to) const {
  const ScaledPart part = {reinterpret_cast<const uint8_t *>(elements) + row * rowBytes,
                           reinterpret_cast<const uint8_t *>(scales) + row * rowScales,
                           begin,
                           end,
                           length,
                           block};
  decoder(tables, part, to);
}

} // namespace tilewright::runtime::cpu
