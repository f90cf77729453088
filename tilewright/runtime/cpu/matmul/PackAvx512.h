// Packing with AVX-512, for panels with groups of four bytes: one f32, two bf16 or four bytes.
//
// In an unnamed namespace for the reason given in KernelTemplates.h.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_PACKAVX512_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_PACKAVX512_H

#include <cstdint>
#include <immintrin.h>

namespace tilewright::runtime::cpu {
namespace {

/// rows[i][j] becomes rows[j][i], for four-byte words.
inline void transpose16(__m512i (&rows)[16]) {
  __m512i pairs[16], quads[16];
#pragma clang loop unroll(full)
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 16; i += 4) {
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
  // quads[4 q + c] holds, in its four parts, columns c, 4 + c, 8 + c, 12 + c of rows 4 q …
#pragma clang loop unroll(full)
  for (int c = 0; c < 4; ++c) {
    const __m512i low02 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0x88);
    const __m512i low13 = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0xdd);
    const __m512i high02 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0x88);
    const __m512i high13 = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_i32x4(low02, high02, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(low02, high02, 0xdd);
    rows[4 + c] = _mm512_shuffle_i32x4(low13, high13, 0x88);
    rows[12 + c] = _mm512_shuffle_i32x4(low13, high13, 0xdd);
  }
}

inline __mmask64 firstBytes(int64_t count) {
  return count >= 64 ? ~__mmask64(0) : (__mmask64(1) << count) - 1;
}
inline __mmask16 firstWords(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1u << count) - 1);
}

/// Packs lines that are contiguous along the sum: panel[group][line] of four-byte words.
/// `lineBytes` is the distance between lines, `bytes` the length of a line.
template <int width>
inline void packAlongSummed(const char *from, int64_t lineBytes, int64_t lines, int64_t bytes,
                            char *to) {
  for (int64_t done = 0; done < bytes; done += 64, to += 16 * width * 4) {
    const __mmask64 inLine = firstBytes(bytes - done);
    const int64_t left = (bytes - done + 3) / 4;
    const int groups = static_cast<int>(left < 16 ? left : 16);
#pragma clang loop unroll(full)
    for (int first = 0; first < width; first += 16) {
      constexpr int sixteen = 16;
      const int lanes = width - first < sixteen ? width - first : sixteen;
      __m512i rows[16];
#pragma clang loop unroll(full)
      for (int i = 0; i < 16; ++i)
        rows[i] = i < lanes && first + i < lines
                      ? _mm512_maskz_loadu_epi8(inLine, from + (first + i) * lineBytes + done)
                      : _mm512_setzero_si512();
      transpose16(rows);
      const __mmask16 inPanel = firstWords(lanes);
      if (groups == 16) {
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          _mm512_mask_storeu_epi32(to + (i * width + first) * 4, inPanel, rows[i]);
      } else {
        alignas(64) __m512i copy[16];
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; ++i)
          copy[i] = rows[i];
        for (int i = 0; i < groups; ++i)
          _mm512_mask_storeu_epi32(to + (i * width + first) * 4, inPanel, copy[i]);
      }
    }
  }
}

/// Packs lines that are adjacent in memory: panel[group][line] of four-byte words, each of
/// `rowsPerWord` rows. load(from, rows, inRow) loads the words of 16 lines at `from`; `inRow` is
/// the mask of lines that exist, and `rows` the number of rows that are left.
template <int width, int rowsPerWord, int elementBytes, typename Load>
inline void packAdjacent(const char *from, int64_t summedBytes, int64_t lines, int64_t summed,
                         char *to, Load load) {
  for (int64_t k = 0; k < summed;
       k += rowsPerWord, from += rowsPerWord * summedBytes, to += width * 4) {
#pragma clang loop unroll(full)
    for (int first = 0; first < width; first += 16) {
      const __mmask16 inRow = lines > first ? firstWords(lines - first) : __mmask16(0);
      _mm512_mask_storeu_epi32(to + first * 4, firstWords(width - first),
                               load(from + first * elementBytes, summed - k, inRow));
    }
  }
}

/// Elements of four bytes.
template <int width>
inline void packWords(const char *from, int64_t summedBytes, int64_t lines, int64_t summed,
                      char *to) {
  packAdjacent<width, 1, 4>(from, summedBytes, lines, summed, to,
                            [](const char *row, int64_t, __mmask16 inRow) {
                              return _mm512_maskz_loadu_epi32(inRow, row);
                            });
}

/// Elements of two bytes: interleaves two rows.
template <int width>
inline void packPairs(const char *from, int64_t summedBytes, int64_t lines, int64_t summed,
                      char *to) {
  auto load = [=](const char *row, int64_t rows, __mmask16 inRow) {
    const __m256i even = _mm256_maskz_loadu_epi16(inRow, row);
    const __m256i odd =
        _mm256_maskz_loadu_epi16(rows > 1 ? inRow : __mmask16(0), row + summedBytes);
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even),
                           _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
  };
  packAdjacent<width, 2, 2>(from, summedBytes, lines, summed, to, load);
}

/// Elements of one byte: interleaves four rows.
template <int width>
inline void packQuads(const char *from, int64_t summedBytes, int64_t lines, int64_t summed,
                      char *to) {
  auto load = [=](const char *row, int64_t rows, __mmask16 inRow) {
    __m512i words = _mm512_setzero_si512();
#pragma clang loop unroll(full)
    for (int g = 0; g < 4; ++g) {
      const __m128i bytes =
          _mm_maskz_loadu_epi8(g < rows ? inRow : __mmask16(0), row + g * summedBytes);
      words = _mm512_or_si512(words, _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 8 * g));
    }
    return words;
  };
  packAdjacent<width, 4, 1>(from, summedBytes, lines, summed, to, load);
}

/// Packs an operand that is contiguous in one of its dimensions; false if it is not.
template <int elementBytes, int width>
inline bool packContiguous(const void *source, int64_t lineStride, int64_t summedStride,
                           int64_t lines, int64_t summed, void *panel) {
  const char *from = static_cast<const char *>(source);
  char *to = static_cast<char *>(panel);
  if (lineStride == 1 && !(summedStride == 1 && lines == 1)) {
    if constexpr (elementBytes == 4)
      packWords<width>(from, summedStride * 4, lines, summed, to);
    else if constexpr (elementBytes == 2)
      packPairs<width>(from, summedStride * 2, lines, summed, to);
    else
      packQuads<width>(from, summedStride, lines, summed, to);
    return true;
  }
  if (summedStride == 1) {
    packAlongSummed<width>(from, lineStride * elementBytes, lines, summed * elementBytes, to);
    return true;
  }
  return false;
}

} // namespace
} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_PACKAVX512_H
