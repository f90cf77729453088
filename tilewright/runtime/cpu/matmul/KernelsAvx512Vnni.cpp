// Kernels for AVX-512 with VNNI: one instruction adds the products of two pairs of 16 bits, or of
// four pairs of bytes.
//
// The instruction for bytes multiplies an unsigned byte by a signed one. If both operands are
// signed or both unsigned, 128 is added to or subtracted from each element of rhs, which inverts
// its highest bit; 128 times the sum of a row of lhs is subtracted from or added to the
// result. Everything is modulo
// 2^32, so the result is exact.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

namespace {
using Words = VectorOf<uint32_t, 16>::Type;

/// Products of 16-bit integers.
struct IntegerPairs {
  using V = Words;
  template <typename Pairs> static V add(V sums, Pairs left, Pairs right) {
    return (V)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)left, (__m512i)right);
  }
};

/// Products of groups of four bytes.
template <bool isLhsSigned, bool isRhsSigned> struct ByteGroups {
  static constexpr bool isShifted = isLhsSigned == isRhsSigned;

  /// Elements of rhs as `add` takes them.
  static Words shift(Words right) { return isShifted ? right ^ 0x80808080 : right; }
  static Words add(Words sums, Words left, Words right) {
    return isLhsSigned ? (Words)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)right, (__m512i)left)
                       : (Words)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)left, (__m512i)right);
  }
  /// Adds the products of `left` and the number that is added to each element of rhs.
  static Words addExcess(Words excess, Words left) {
    return isShifted ? add(excess, left, shift(Words())) : excess;
  }
};

constexpr int byteRows = 12, byteColumns = 32;

/// Packs rhs[summed / 4][column][summed % 4], shifted.
template <typename Bytes>
void packByteColumns(const void *source, int64_t lineStride, int64_t summedStride, int64_t lines,
                     int64_t summed, void *panel) {
  packPanel<uint8_t, byteColumns, 4>(source, lineStride, summedStride, lines, summed, panel);
  if (!Bytes::isShifted)
    return;
  auto *words = static_cast<uint32_t *>(panel);
  const int64_t count = (summed + 3) / 4 * byteColumns;
  for (int64_t i = 0; i < count; i += 16)
    storeVector(words + i, Bytes::shift(loadVector<Words>(words + i)));
}

/// Computes the first `used` rows of a panel.
template <typename Bytes, int used>
inline void multiplyByteRows(int64_t summed, const uint32_t *lhs, const uint32_t *rhs,
                             uint32_t *sums, int64_t stride, int64_t rows, int64_t columns,
                             bool add) {
  constexpr int vectors = 2;
  Words block[used][vectors] = {}, excess = {};
  for (int64_t k = 0; k < summed; k += 4, lhs += byteRows, rhs += byteColumns) {
    const Words right[vectors] = {loadVector<Words>(rhs), loadVector<Words>(rhs + 16)};
    excess = Bytes::addExcess(excess, loadPart<uint32_t, 16>(lhs, byteRows));
    TILEWRIGHT_UNROLL
    for (int i = 0; i < used; ++i) {
      const Words left = lhs[i];
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] = Bytes::add(block[i][j], left, right[j]);
    }
  }
  if constexpr (Bytes::isShifted) {
    alignas(64) uint32_t ofRow[16];
    storeVector(ofRow, excess);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < used; ++i) {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] -= ofRow[i];
    }
  }
  storeBlock<uint32_t, 16, used, vectors>(block, sums, stride, rows, columns, add);
}

template <typename Bytes>
void multiplyBytes(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sumsData,
                   int64_t stride, int64_t rows, int64_t columns, bool add) {
  const auto *lhs = static_cast<const uint32_t *>(lhsPanel);
  const auto *rhs = static_cast<const uint32_t *>(rhsPanel);
  auto *sums = static_cast<uint32_t *>(sumsData);
  // The last panel of a matrix may be partial: use the smallest kernel that covers its rows.
  if (rows <= byteRows / 4)
    multiplyByteRows<Bytes, byteRows / 4>(summed, lhs, rhs, sums, stride, rows, columns, add);
  else if (rows <= byteRows / 2)
    multiplyByteRows<Bytes, byteRows / 2>(summed, lhs, rhs, sums, stride, rows, columns, add);
  else
    multiplyByteRows<Bytes, byteRows>(summed, lhs, rhs, sums, stride, rows, columns, add);
}

/// Subtract this from the sums of a row of lhs and shifted elements.
template <typename Bytes> inline uint32_t excessOf(const uint8_t *lhs, int64_t summed) {
  Words excess = {};
  if (Bytes::isShifted)
    for (int64_t k = 0; k < summed; k += 64)
      excess =
          Bytes::addExcess(excess, (Words)_mm512_maskz_loadu_epi8(firstBytes(summed - k), lhs + k));
  return static_cast<uint32_t>(_mm512_reduce_add_epi32((__m512i)excess));
}

/// Loads `count` of four rows of rhs, for 64 columns, as words with four bytes of a column. The
/// words of columns 16 l + 4 v + i are in part l of vector v; turnParts() gives the order of
/// columns.
template <typename Bytes>
inline void loadByteColumns(const uint8_t *rhs, int64_t rhsStride, int64_t count, __mmask64 columns,
                            Words (&words)[4]) {
  __m512i rows[4];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < 4; ++i)
    rows[i] = (__m512i)Bytes::shift(
        (Words)_mm512_maskz_loadu_epi8(i < count ? columns : __mmask64(0), rhs + i * rhsStride));
  const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  words[0] = (Words)_mm512_unpacklo_epi16(low01, low23);
  words[1] = (Words)_mm512_unpackhi_epi16(low01, low23);
  words[2] = (Words)_mm512_unpacklo_epi16(high01, high23);
  words[3] = (Words)_mm512_unpackhi_epi16(high01, high23);
}

/// Transposes the 4 x 4 parts of 16 bytes of 64 sums and subtracts `excess`. Transposing twice
/// gives the original order.
inline void turnParts(uint32_t *sums, uint32_t excess) {
  const __m512i a = _mm512_loadu_si512(sums), b = _mm512_loadu_si512(sums + 16);
  const __m512i c = _mm512_loadu_si512(sums + 32), d = _mm512_loadu_si512(sums + 48);
  const __m512i ab02 = _mm512_shuffle_i32x4(a, b, 0x88), ab13 = _mm512_shuffle_i32x4(a, b, 0xdd);
  const __m512i cd02 = _mm512_shuffle_i32x4(c, d, 0x88), cd13 = _mm512_shuffle_i32x4(c, d, 0xdd);
  storeVector(sums, (Words)_mm512_shuffle_i32x4(ab02, cd02, 0x88) - excess);
  storeVector(sums + 16, (Words)_mm512_shuffle_i32x4(ab13, cd13, 0x88) - excess);
  storeVector(sums + 32, (Words)_mm512_shuffle_i32x4(ab02, cd02, 0xdd) - excess);
  storeVector(sums + 48, (Words)_mm512_shuffle_i32x4(ab13, cd13, 0xdd) - excess);
}

/// Four bytes of a row of lhs, of which `count` exist.
inline uint32_t leftWord(const uint8_t *lhs, int64_t count) {
  uint32_t word = 0;
  if (count >= 4) {
    __builtin_memcpy(&word, lhs, 4);
    return word;
  }
  for (int64_t i = 0; i < count; ++i)
    word |= static_cast<uint32_t>(lhs[i]) << 8 * i;
  return word;
}

/// Adds to the sums of 64 columns, in the order of loadByteColumns(), the products with up to
/// 4 * `groups` rows of rhs.
template <typename Bytes, int groups>
inline void addByteGroups(int64_t rows, int64_t summed, const uint8_t *lhs, int64_t lhsStride,
                          const uint8_t *rhs, int64_t rhsStride, __mmask64 columns, uint32_t *sums,
                          int64_t stride) {
  Words right[groups][4];
  TILEWRIGHT_UNROLL
  for (int g = 0; g < groups; ++g) {
    loadByteColumns<Bytes>(rhs + 4 * g * rhsStride, rhsStride, summed - 4 * g, columns, right[g]);
    // Prefetch the next rows: hardware prefetchers do not cross pages, and rows may be on
    // different ones. A prefetch beyond the matrix does nothing.
    TILEWRIGHT_UNROLL
    for (int i = 0; i < 4; ++i)
      __builtin_prefetch(rhs + (4 * (groups + g) + i) * rhsStride);
  }
  for (int64_t row = 0; row < rows; ++row, lhs += lhsStride, sums += stride) {
    Words left[groups];
    TILEWRIGHT_UNROLL
    for (int g = 0; g < groups; ++g)
      left[g] = leftWord(lhs + 4 * g, summed - 4 * g);
    TILEWRIGHT_UNROLL
    for (int v = 0; v < 4; ++v) {
      Words sum = loadVector<Words>(sums + 16 * v);
      TILEWRIGHT_UNROLL
      for (int g = 0; g < groups; ++g)
        sum = Bytes::add(sum, left[g], right[g][v]);
      storeVector(sums + 16 * v, sum);
    }
  }
}

template <typename Bytes>
void addByteRowsTimesMatrix(int64_t rows, int64_t columns, int64_t summed, const void *lhsData,
                            const void *rhsData, int64_t rhsStride, void *sumsData) {
  constexpr int groups = 4, depth = 4 * groups, width = 64;
  const auto *lhs = static_cast<const uint8_t *>(lhsData);
  const auto *rhs = static_cast<const uint8_t *>(rhsData);
  auto *sums = static_cast<uint32_t *>(sumsData);
  auto addAll = [&](int64_t first, int64_t last, __mmask64 inRow, uint32_t *to, int64_t stride) {
    int64_t k = 0;
    for (; k + depth <= summed; k += depth)
      for (int64_t n = first; n < last; n += width)
        addByteGroups<Bytes, groups>(rows, depth, lhs + k, summed, rhs + k * rhsStride + n,
                                     rhsStride, inRow, to + n - first, stride);
    for (; k < summed; k += 4)
      for (int64_t n = first; n < last; n += width)
        addByteGroups<Bytes, 1>(rows, summed - k, lhs + k, summed, rhs + k * rhsStride + n,
                                rhsStride, inRow, to + n - first, stride);
  };
  auto turnAll = [&](bool isFinished) {
    for (int64_t row = 0; row < rows; ++row) {
      const uint32_t excess = isFinished ? excessOf<Bytes>(lhs + row * summed, summed) : 0;
      for (int64_t n = 0; n + width <= columns; n += width)
        turnParts(sums + row * columns + n, excess);
    }
  };
  const int64_t whole = columns / width * width;
  turnAll(false);
  addAll(0, whole, ~__mmask64(0), sums, columns);
  turnAll(true);
  if (whole == columns)
    return;
  // The last columns: their sums in the other order would overlap the next row.
  constexpr int64_t rowsAtOnce = 8;
  const int64_t allRows = rows, rest = columns - whole;
  const uint8_t *allLhs = lhs;
  for (int64_t row = 0; row < allRows; row += rowsAtOnce) {
    alignas(64) uint32_t part[rowsAtOnce * width] = {};
    rows = allRows - row < rowsAtOnce ? allRows - row : rowsAtOnce;
    lhs = allLhs + row * summed;
    addAll(whole, columns, firstBytes(rest), part, width);
    for (int64_t i = 0; i < rows; ++i) {
      turnParts(part + i * width, excessOf<Bytes>(lhs + i * summed, summed));
      for (int64_t n = 0; n < rest; ++n)
        sums[(row + i) * columns + whole + n] += part[i * width + n];
    }
  }
}

/// Multiplies a row by four columns of rhs, each contiguous along the sum.
template <typename Bytes>
inline void multiplyByteLines(int64_t count, int64_t summed, const uint8_t *lhs,
                              const uint8_t *const *line, uint32_t excess, uint32_t *sums) {
  constexpr int streams = 4;
  Words all[streams] = {};
  auto add = [&](int64_t k, __mmask64 inLine) {
    const auto left = (Words)_mm512_maskz_loadu_epi8(inLine, lhs + k);
    TILEWRIGHT_UNROLL
    for (int s = 0; s < streams; ++s)
      all[s] = Bytes::add(all[s], left,
                          Bytes::shift((Words)_mm512_maskz_loadu_epi8(inLine, line[s] + k)));
  };
  int64_t k = 0;
  for (; k + 64 <= summed; k += 64)
    add(k, ~__mmask64(0));
  if (k < summed)
    add(k, firstBytes(summed - k));
  for (int64_t s = 0; s < count; ++s)
    sums[s] = static_cast<uint32_t>(_mm512_reduce_add_epi32((__m512i)all[s])) - excess;
}

template <typename Bytes>
void byteRowsTimesTransposed(int64_t rows, int64_t columns, int64_t summed, const void *lhsData,
                             const void *rhsData, int64_t rhsStride, void *sumsData) {
  constexpr int64_t streams = 4, rowsAtOnce = 8;
  const auto *rhs = static_cast<const uint8_t *>(rhsData);
  for (int64_t first = 0; first < rows; first += rowsAtOnce) {
    const int64_t rowCount = rows - first < rowsAtOnce ? rows - first : rowsAtOnce;
    const uint8_t *lhs = static_cast<const uint8_t *>(lhsData) + first * summed;
    uint32_t *sums = static_cast<uint32_t *>(sumsData) + first * columns;
    uint32_t excess[rowsAtOnce];
    for (int64_t row = 0; row < rowCount; ++row)
      excess[row] = excessOf<Bytes>(lhs + row * summed, summed);
    for (int64_t n = 0; n < columns; n += streams) {
      const int64_t count = columns - n < streams ? columns - n : streams;
      const uint8_t *line[streams];
      for (int64_t s = 0; s < streams; ++s)
        line[s] = rhs + (n + (s < count ? s : 0)) * rhsStride;
      for (int64_t row = 0; row < rowCount; ++row)
        multiplyByteLines<Bytes>(count, summed, lhs + row * summed, line, excess[row],
                                 sums + row * columns + n);
    }
  }
}

template <bool isLhsSigned, bool isRhsSigned>
constexpr PanelKernel bytePanels(std::string_view name, ElementType lhs, ElementType rhs) {
  using Bytes = ByteGroups<isLhsSigned, isRhsSigned>;
  return {name,
          lhs,
          rhs,
          ElementType::i32,
          byteRows,
          byteColumns,
          4,
          packPanel<uint8_t, byteRows, 4>,
          packByteColumns<Bytes>,
          multiplyBytes<Bytes>};
}
template <bool isLhsSigned, bool isRhsSigned>
constexpr VectorKernel byteVectors(ElementType lhs, ElementType rhs) {
  using Bytes = ByteGroups<isLhsSigned, isRhsSigned>;
  return {lhs, rhs, ElementType::i32, addByteRowsTimesMatrix<Bytes>,
          byteRowsTimesTransposed<Bytes>};
}
} // namespace

const KernelSet &avx512VnniKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      bytePanels<true, true>("avx512-vnni i8 i8 12x32", i8, i8),
      bytePanels<true, false>("avx512-vnni i8 ui8 12x32", i8, ui8),
      bytePanels<false, true>("avx512-vnni ui8 i8 12x32", ui8, i8),
      bytePanels<false, false>("avx512-vnni ui8 ui8 12x32", ui8, ui8),
      {"avx512-vnni i16 14x32", i16, i16, i32, 14, 32, 2, packPanel<int16_t, 14, 2>,
       packPanel<int16_t, 32, 2>, multiplyPairs<IntegerPairs, uint32_t, 16, 14>},
  };
  static constexpr VectorKernel vectors[] = {
      byteVectors<true, true>(i8, i8),
      byteVectors<true, false>(i8, ui8),
      byteVectors<false, true>(ui8, i8),
      byteVectors<false, false>(ui8, ui8),
  };
  static constexpr KernelSet set = {panels, {}, vectors, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
