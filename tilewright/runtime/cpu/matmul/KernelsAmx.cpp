// Kernels for AMX: eight registers of 16 rows of 64 bytes. Four of them hold 32 x 32 sums, two hold
// blocks of lhs and two blocks of rhs, so that every loaded block is used twice.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

constexpr int64_t tileRows = 16, blockRows = 32, blockColumns = 32;
/// Bytes of a row of a tile register.
constexpr int64_t tileBytes = 64;

namespace {
/// The operand of ldtilecfg, in the layout that Intel's manual specifies.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
} // namespace

static void enterTiles() {
  static constexpr TileConfiguration configuration;
  _tile_loadconfig(&configuration);
}
static void leaveTiles() { _tile_release(); }

/// packRows() for a transposed operand, whose lines are adjacent in memory: packs groups of four
/// bytes along the summed dimension, as is done for rhs, then transposes them.
template <typename T>
static void packTurnedRows(const T *from, int64_t summedStride, int64_t lines, int64_t summed,
                           T *to) {
  constexpr int64_t depth = tileBytes / sizeof(T), group = 4 / sizeof(T);
  for (int64_t k = 0; k < summed; k += depth, to += blockRows * depth) {
    const int64_t count = summed - k < depth ? summed - k : depth;
    alignas(64) uint32_t words[16][blockRows] = {};
    packPanel<T, blockRows, group>(from + k * summedStride, 1, summedStride, lines, count, words);
    for (int64_t half = 0; half < blockRows; half += tileRows) {
      __m512i rows[16];
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 16; ++i)
        rows[i] = _mm512_load_si512(&words[i][half]);
      transpose16(rows);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 16; ++i)
        _mm512_store_si512(to + (half + i) * depth, rows[i]);
    }
  }
}

/// lhs[summed / depth][row][summed % depth]: each tile is 1 KiB, contiguous.
template <typename T>
static void packRows(const void *source, int64_t lineStride, int64_t summedStride, int64_t lines,
                     int64_t summed, void *panel) {
  constexpr int64_t depth = tileBytes / sizeof(T);
  const T *from = static_cast<const T *>(source);
  T *to = static_cast<T *>(panel);
  if (lineStride == 1 && summedStride != 1)
    return packTurnedRows<T>(from, summedStride, lines, summed, to);
  for (int64_t k = 0; k < summed; k += depth, to += blockRows * depth) {
    const int64_t count = summed - k < depth ? summed - k : depth;
    for (int64_t line = 0; line < blockRows; ++line) {
      T *row = to + line * depth;
      const T *values = from + line * lineStride + k * summedStride;
      if (summedStride == 1) {
        const __mmask64 inRow = line < lines ? firstBytes(count * sizeof(T)) : 0;
        _mm512_store_si512(row, _mm512_maskz_loadu_epi8(inRow, values));
        continue;
      }
      for (int64_t i = 0; i < depth; ++i)
        row[i] = line < lines && i < count ? values[i * summedStride] : T();
    }
  }
}

/// rhs[summed / group][column][summed % group], padded to whole tiles.
template <typename T, int group>
static void packColumns(const void *source, int64_t lineStride, int64_t summedStride, int64_t lines,
                        int64_t summed, void *panel) {
  constexpr int64_t depth = tileBytes / sizeof(T);
  packPanel<T, blockColumns, group>(source, lineStride, summedStride, lines, summed, panel);
  const int64_t written = (summed + group - 1) / group * group;
  const int64_t padded = (summed + depth - 1) / depth * depth;
  T *rest = static_cast<T *>(panel) + written * blockColumns;
  for (int64_t i = 0; i < (padded - written) * blockColumns; ++i)
    rest[i] = T();
}

// A macro, because the intrinsics take tile registers as immediates; `product` is the intrinsic
// that multiplies two tiles.
#define TILEWRIGHT_AMX_MULTIPLY(name, product, elementBytes, Sum)                                  \
  static void name(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sumsData,     \
                   int64_t stride, int64_t rows, int64_t columns, bool add) {                      \
    Sum *sums = static_cast<Sum *>(sumsData);                                                      \
    const bool isWhole = rows == blockRows && columns == blockColumns;                             \
    alignas(64) Sum edge[blockRows * blockColumns];                                                \
    Sum *to = isWhole ? sums : edge;                                                               \
    const int64_t toStride = isWhole ? stride : blockColumns;                                      \
    const int64_t rowBytes = toStride * 4;                                                         \
    if (add && isWhole) {                                                                          \
      _tile_loadd(0, to, rowBytes);                                                                \
      _tile_loadd(1, to + tileRows, rowBytes);                                                     \
      _tile_loadd(2, to + tileRows * toStride, rowBytes);                                          \
      _tile_loadd(3, to + tileRows * toStride + tileRows, rowBytes);                               \
    } else {                                                                                       \
      _tile_zero(0);                                                                               \
      _tile_zero(1);                                                                               \
      _tile_zero(2);                                                                               \
      _tile_zero(3);                                                                               \
    }                                                                                              \
    const char *lhs = static_cast<const char *>(lhsPanel);                                         \
    const char *rhs = static_cast<const char *>(rhsPanel);                                         \
    for (int64_t k = 0; k < summed; k += tileBytes / elementBytes, lhs += 2048, rhs += 2048) {     \
      _tile_loadd(4, lhs, tileBytes);                                                              \
      _tile_loadd(6, rhs, 2 * tileBytes);                                                          \
      _tile_loadd(7, rhs + tileBytes, 2 * tileBytes);                                              \
      product(0, 4, 6);                                                                            \
      product(1, 4, 7);                                                                            \
      _tile_loadd(5, lhs + 1024, tileBytes);                                                       \
      product(2, 5, 6);                                                                            \
      product(3, 5, 7);                                                                            \
    }                                                                                              \
    _tile_stored(0, to, rowBytes);                                                                 \
    _tile_stored(1, to + tileRows, rowBytes);                                                      \
    _tile_stored(2, to + tileRows * toStride, rowBytes);                                           \
    _tile_stored(3, to + tileRows * toStride + tileRows, rowBytes);                                \
    if (!isWhole)                                                                                  \
      for (int64_t i = 0; i < rows; ++i)                                                           \
        for (int64_t j = 0; j < columns; ++j) {                                                    \
          Sum &sum = sums[i * stride + j];                                                         \
          sum = (add ? sum : Sum()) + edge[i * blockColumns + j];                                  \
        }                                                                                          \
  }

TILEWRIGHT_AMX_MULTIPLY(multiplyBf16, _tile_dpbf16ps, 2, float)
TILEWRIGHT_AMX_MULTIPLY(multiplySignedSigned, _tile_dpbssd, 1, uint32_t)
TILEWRIGHT_AMX_MULTIPLY(multiplySignedUnsigned, _tile_dpbsud, 1, uint32_t)
TILEWRIGHT_AMX_MULTIPLY(multiplyUnsignedSigned, _tile_dpbusd, 1, uint32_t)
TILEWRIGHT_AMX_MULTIPLY(multiplyUnsignedUnsigned, _tile_dpbuud, 1, uint32_t)
#undef TILEWRIGHT_AMX_MULTIPLY

const KernelSet &amxKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"amx bf16 32x32", bf16, bf16, f32, blockRows, blockColumns, 32, packRows<uint16_t>,
       packColumns<uint16_t, 2>, multiplyBf16, enterTiles, leaveTiles},
      {"amx i8 i8 32x32", i8, i8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiplySignedSigned, enterTiles, leaveTiles},
      {"amx i8 ui8 32x32", i8, ui8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiplySignedUnsigned, enterTiles, leaveTiles},
      {"amx ui8 i8 32x32", ui8, i8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiplyUnsignedSigned, enterTiles, leaveTiles},
      {"amx ui8 ui8 32x32", ui8, ui8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiplyUnsignedUnsigned, enterTiles, leaveTiles},
  };
  static constexpr KernelSet set = {panels, {}, {}, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
