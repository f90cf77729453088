// Decodes 64 scaled elements at a time with AVX-512 and VBMI. Calls no function of the standard
// library, for the reason given in KernelTemplates.h.
#include "tilewright/runtime/cpu/matmul/ScaledRows.h"

#include <immintrin.h>

namespace tilewright::runtime::cpu {

namespace {

/// The elements of one step, whose factors fill two vectors of bf16.
constexpr int64_t atOnce = 64, half = 32;

struct Factors {
  __m512i parts[2]; // of 32 bf16
};

inline __mmask64 first64(int64_t count) {
  return count >= 64 ? ~__mmask64(0) : (__mmask64(1) << count) - 1;
}
inline __mmask32 first32(int64_t count) {
  if (count <= 0)
    return 0;
  return count >= 32 ? ~__mmask32(0) : (__mmask32(1) << count) - 1;
}
inline __mmask16 first16(int64_t count) {
  return static_cast<__mmask16>(first32(count < 16 ? count : 16));
}

/// The values of the elements [k, k + count) of a row as bf16; `count` is at most 64.
template <bool isPacked>
inline Factors valuesOf(const ScaledTables &tables, const uint8_t *row, int64_t k, int64_t count) {
  if constexpr (isPacked) {
    const __m256i bytes = _mm256_maskz_loadu_epi8(first32((count + 1) / 2), row + k / 2);
    // Sixteen values, twice: vpermw reads five bits of an index, of which the fifth does not
    // matter.
    const __m512i table = _mm512_broadcast_i64x4(
        _mm256_load_si256(reinterpret_cast<const __m256i *>(tables.elements)));
    auto expand = [&](__m128i of32) {
      const __m512i words = _mm512_cvtepu8_epi32(of32);
      return _mm512_permutexvar_epi16(_mm512_or_si512(words, _mm512_slli_epi32(words, 12)), table);
    };
    return {{expand(_mm256_castsi256_si128(bytes)), expand(_mm256_extracti128_si256(bytes, 1))}};
  } else {
    __m512i bytes = _mm512_maskz_loadu_epi8(first64(count), row + k);
    // Unpacking takes the low and the high half of each part of 128 bits. With this order of the
    // halves the first vector gets the first 32 elements.
    bytes = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), bytes);
    const __m512i low = _mm512_permutex2var_epi8(_mm512_load_si512(tables.low), bytes,
                                                 _mm512_load_si512(tables.low + 64));
    __m512i high = _mm512_permutex2var_epi8(_mm512_load_si512(tables.high), bytes,
                                            _mm512_load_si512(tables.high + 64));
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(tables.signBit));
    high = _mm512_ternarylogic_epi64(high, bytes, sign, 0xf8); // high | (bytes & sign)
    return {{_mm512_unpacklo_epi8(low, high), _mm512_unpackhi_epi8(low, high)}};
  }
}

/// The scales of 32 elements, for each pair of them.
template <int64_t block>
inline __m512 scalesOf(const ScaledTables &tables, const ScaledPart &part, int64_t k) {
  // Behind the end of a row are elements without a scale; they are not stored.
  const int64_t last = (part.length - 1) / block;
  auto scale = [&](int64_t at) { return tables.scales + part.scales[at < last ? at : last]; };
  const __m512 all = _mm512_set1_ps(*scale(k / block));
  if constexpr (block >= half)
    return all;
  return _mm512_mask_broadcastss_ps(all, 0xff00, _mm_load_ss(scale(k / block + 1)));
}

/// 32 numbers of bf16 times the scales of their pairs. The products are bf16 exactly, so their
/// upper halves are all of them.
inline __m512i scaled(__m512i values, __m512 scales) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  const __m512i even = (__m512i)_mm512_mul_ps((__m512)_mm512_slli_epi32(values, 16), scales);
  const __m512i odd = (__m512i)_mm512_mul_ps((__m512)_mm512_and_si512(values, upper), scales);
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(even, 16), odd);
}

/// Sixteen numbers of bf16 times one scale, as f32.
inline __m512 widened(__m256i values, float scale) {
  return _mm512_mul_ps((__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16),
                       _mm512_set1_ps(scale));
}

template <bool isPacked, int64_t block, typename Factor>
void decode(const ScaledTables &tables, const ScaledPart &part, void *to) {
  constexpr bool toF32 = sizeof(Factor) == 4;
  for (int64_t k = part.begin / atOnce * atOnce; k < part.end; k += atOnce) {
    const int64_t left = part.end - k, before = k < part.begin ? part.begin - k : 0;
    const bool isWhole = left >= atOnce && before == 0;
    const Factors values =
        valuesOf<isPacked>(tables, part.elements, k, left < atOnce ? left : atOnce);
    Factor *out = static_cast<Factor *>(to) + (k - part.begin);
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; ++i) {
      const int64_t at = half * i;
      const __m512 scales = scalesOf<block>(tables, part, k + at);
      if constexpr (toF32) {
        const __m256i words[2] = {_mm512_castsi512_si256(values.parts[i]),
                                  _mm512_extracti64x4_epi64(values.parts[i], 1)};
        const float by[2] = {_mm512_cvtss_f32(scales),
                             _mm_cvtss_f32(_mm512_extractf32x4_ps(scales, 3))};
#pragma clang loop unroll(full)
        for (int j = 0; j < 2; ++j) {
          const int64_t from = at + 16 * j;
          const __mmask16 inPart =
              isWhole ? __mmask16(0xffff)
                      : static_cast<__mmask16>(first16(left - from) & ~first16(before - from));
          _mm512_mask_storeu_ps(out + from, inPart, widened(words[j], by[j]));
        }
      } else {
        const __m512i factors = scaled(values.parts[i], scales);
        if (isWhole)
          _mm512_storeu_si512(out + at, factors);
        else
          _mm512_mask_storeu_epi16(out + at, first32(left - at) & ~first32(before - at), factors);
      }
    }
  }
}

template <bool isPacked, int64_t block> DecodeScaled decoderOf(bool toF32) {
  return toF32 ? decode<isPacked, block, float> : decode<isPacked, block, uint16_t>;
}
template <int64_t block> DecodeScaled decoderOf(bool isPacked, bool toF32) {
  return isPacked ? decoderOf<true, block>(toF32) : decoderOf<false, block>(toF32);
}

} // namespace

DecodeScaled avx512Decoder(bool isPacked, int64_t block, bool toF32) {
  if (block == 16)
    return decoderOf<16>(isPacked, toF32);
  if (block == 32)
    return decoderOf<32>(isPacked, toF32);
  return nullptr;
}

} // namespace tilewright::runtime::cpu
