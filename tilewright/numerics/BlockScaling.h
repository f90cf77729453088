// Block-scaled formats: short floats that share a scale per block.
//
// MXFP8, MXFP6 and MXFP4 follow the OCP Microscaling specification v1.0; NVFP4
// follows NVIDIA's description of it (two levels: an e4m3 scale for 16 elements
// and an f32 scale for the tensor).
#ifndef TILEWRIGHT_NUMERICS_BLOCKSCALING_H
#define TILEWRIGHT_NUMERICS_BLOCKSCALING_H

#include "tilewright/numerics/ElementType.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::numerics {

/// The size of the blocks and the types of elements and scales.
struct BlockFormat {
  std::string_view name;
  ElementType element;
  ElementType scale;
  size_t blockSize;
  bool hasGlobalScale;

  constexpr size_t blocksFor(size_t elements) const {
    return (elements + blockSize - 1) / blockSize;
  }
};

inline constexpr BlockFormat mxfp8E4M3 = {"mxfp8-e4m3", ElementType::f8E4M3FN,
                                          ElementType::f8E8M0FNU, 32, false};
inline constexpr BlockFormat mxfp8E5M2 = {"mxfp8-e5m2", ElementType::f8E5M2, ElementType::f8E8M0FNU,
                                          32, false};
inline constexpr BlockFormat mxfp6E2M3 = {"mxfp6-e2m3", ElementType::f6E2M3FN,
                                          ElementType::f8E8M0FNU, 32, false};
inline constexpr BlockFormat mxfp6E3M2 = {"mxfp6-e3m2", ElementType::f6E3M2FN,
                                          ElementType::f8E8M0FNU, 32, false};
inline constexpr BlockFormat mxfp4 = {"mxfp4", ElementType::f4E2M1FN, ElementType::f8E8M0FNU, 32,
                                      false};
inline constexpr BlockFormat nvfp4 = {"nvfp4", ElementType::f4E2M1FN, ElementType::f8E4M3FN, 16,
                                      true};
inline constexpr BlockFormat blockFormats[] = {mxfp8E4M3, mxfp8E5M2, mxfp6E2M3,
                                               mxfp6E3M2, mxfp4,     nvfp4};

/// A row of block-scaled values: element i is elements[i] * scales[i / blockSize] * globalScale.
/// Each element and each scale takes one byte, as in tensors; the last block may be shorter.
struct BlockScaled {
  const BlockFormat &format;
  std::span<const uint8_t> elements;
  std::span<const uint8_t> scales;
  float globalScale = 1;
};

/// NVFP4's scale for a whole tensor: its largest finite magnitude divided by 6 * 448, so that the
/// largest block scale is the largest e4m3. At least 2^-126, which is never flushed to zero; 1 for
/// a tensor of zeros.
float globalScaleFor(std::span<const float> values);

/// Quantises a row: each element is the exact quotient value / scale, rounded to the nearest
/// element and saturated.
///
///   MX     scale = 2^(floor(log2(largest magnitude)) - largest element exponent),
///          clamped to f8E8M0FNU. A block of zeros gets the smallest scale. An
///          infinity counts as 2^128 and dequantises to an infinity.
///   NVFP4  scale = largest magnitude / 6 / globalScale, rounded to e4m3 and
///          saturated. A scale of zero makes all elements zero.
///
/// A NaN makes the scale NaN and therefore the whole block.
void quantise(const BlockFormat &format, std::span<const float> values, float globalScale,
              std::span<uint8_t> elements, std::span<uint8_t> scales);

/// The values of a row, each rounded once to f32.
void dequantise(const BlockScaled &row, std::span<float> values);

/// The dot product of two rows of equal length, possibly of different formats, as bits of `result`:
/// exact products and sum, rounded once.
uint64_t exactDot(const BlockScaled &lhs, const BlockScaled &rhs, ElementType result);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_BLOCKSCALING_H
