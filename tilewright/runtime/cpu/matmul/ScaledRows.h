// ScaledRows: rows of narrow elements with one scale for each block, decoded to the factors that a
// product multiplies.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDROWS_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDROWS_H

#include "tilewright/runtime/cpu/matmul/Kernels.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime::cpu {

/// The values of the elements and scales of one operand, by their bits.
struct ScaledTables {
  alignas(64) uint16_t elements[256]; // as bf16
  /// The low and high bytes of the first half of `elements`.
  alignas(64) uint8_t low[128];
  alignas(64) uint8_t high[128];
  float scales[256];
  /// The bit of an element that only changes its sign, or 0 if an element is less than 128.
  uint8_t signBit = 0;
};

/// A part of a row: elements [begin, end) of `length`, whose scales are for blocks of `block`.
struct ScaledPart {
  const uint8_t *elements, *scales; // of the whole row
  int64_t begin, end, length, block;
};

/// Writes elements times scales for a part of a row. Reads nothing beyond the row.
using DecodeScaled = void (*)(const ScaledTables &tables, const ScaledPart &part, void *to);

#if defined(__x86_64__)
/// The decoder for AVX-512 with VBMI; null if it has none for blocks of this size. It needs a
/// `signBit`, or elements below 128.
DecodeScaled avx512Decoder(bool isPacked, int64_t block, bool toF32);
#endif

/// How the rows of one operand are decoded. An element times its scale is a bf16, exactly; below
/// the least normal number of bf16 it is truncated, because matrix units take it for zero anyway.
class ScaledRows {
public:
  /// The type of packed elements: a byte of ui8 is two f4E2M1FN, the first in its low half.
  static constexpr ElementType packed = ElementType::ui8;

  /// Whether each element of the type times each scale is a bf16.
  static bool supports(ElementType element, ElementType scale);

  /// `factor` is bf16 or f32.
  ScaledRows(const CpuFeatures &features, ElementType element, ElementType scale, int64_t block,
             int64_t length, ElementType factor);

  /// Writes the factors of elements [begin, end) of a row.
  void decode(const std::byte *elements, const std::byte *scales, int64_t row, int64_t begin,
              int64_t end, void *to) const;
  int64_t factorBytes() const { return bytesOfFactor; }

private:
  ScaledTables tables;
  DecodeScaled decoder;
  int64_t block, length, rowBytes, rowScales, bytesOfFactor;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_SCALEDROWS_H
