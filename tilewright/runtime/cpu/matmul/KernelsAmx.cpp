// Kernels for AMX: eight registers of 16 rows of 64 bytes. Four of them hold 32 x 32 sums, two hold
// blocks of lhs and two blocks of rhs, so that every loaded block is used twice. README.md has the
// cycles of all of this.
#include "tilewright/runtime/cpu/matmul/KernelTemplates.h"

namespace tilewright::runtime::cpu {

constexpr int64_t tileRows = 16, blockRows = 32, blockColumns = 32;
/// Bytes of a row of a tile register.
constexpr int64_t tileBytes = 64;
/// Bytes of a register, and of the two of a panel for as many summed elements as one has.
constexpr int64_t registerBytes = tileRows * tileBytes, stepBytes = 2 * registerBytes;

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

namespace {

/// The instructions for one pair of types. The numbers are of registers.
struct Bf16Tiles {
  using Sum = float;
  static constexpr int64_t depth = 32;
  template <int sums, int lhs, int rhs> static void multiply() { _tile_dpbf16ps(sums, lhs, rhs); }
};
struct ByteTiles {
  using Sum = uint32_t;
  static constexpr int64_t depth = 64;
};
struct SignedSigned : ByteTiles {
  template <int sums, int lhs, int rhs> static void multiply() { _tile_dpbssd(sums, lhs, rhs); }
};
struct SignedUnsigned : ByteTiles {
  template <int sums, int lhs, int rhs> static void multiply() { _tile_dpbsud(sums, lhs, rhs); }
};
struct UnsignedSigned : ByteTiles {
  template <int sums, int lhs, int rhs> static void multiply() { _tile_dpbusd(sums, lhs, rhs); }
};
struct UnsignedUnsigned : ByteTiles {
  template <int sums, int lhs, int rhs> static void multiply() { _tile_dpbuud(sums, lhs, rhs); }
};

} // namespace

/// From so many steps on, panels come from L2, and sums take long enough to prepare their stores.
/// Fewer steps of a few panels stay in L1 as a whole.
constexpr int64_t longSteps = 9;

/// Loads a register of rhs. A panel of lhs is multiplied by one panel of rhs after the other, so
/// only the panel of lhs should stay in L1 if both do not fit.
template <int tile, bool isLong> static void loadRhs(const char *rhs) {
  if constexpr (isLong)
    _tile_stream_loadd(tile, rhs, 2 * tileBytes);
  else
    _tile_loadd(tile, rhs, 2 * tileBytes);
}

/// sums = or += the product of `steps` steps of two panels, for `high` times `wide` registers of
/// sums.
template <typename Tiles, int high, int wide, bool isLong>
static void multiplyBlock(int64_t steps, const char *lhs, const char *rhs,
                          typename Tiles::Sum *sums, int64_t stride, bool add) {
  const int64_t rowBytes = stride * 4;
  auto at = [=](int row, int column) { return sums + row * tileRows * stride + column * tileRows; };
  if (add) {
    _tile_loadd(0, at(0, 0), rowBytes);
    if constexpr (wide == 2)
      _tile_loadd(1, at(0, 1), rowBytes);
    if constexpr (high == 2)
      _tile_loadd(2, at(1, 0), rowBytes);
    if constexpr (high == 2 && wide == 2)
      _tile_loadd(3, at(1, 1), rowBytes);
  } else {
    _tile_zero(0);
    if constexpr (wide == 2)
      _tile_zero(1);
    if constexpr (high == 2)
      _tile_zero(2);
    if constexpr (high == 2 && wide == 2)
      _tile_zero(3);
  }
  // The lines of the sums often are not in L2, and stores wait for one after the other, so fetch
  // them during the product, a row in each step.
  const int64_t fetched = isLong && !add ? high * tileRows : 0;
  for (int64_t i = 0; i < steps; ++i, lhs += stepBytes, rhs += stepBytes) {
    if (i < fetched) {
      __builtin_prefetch(sums + i * stride, 1);
      __builtin_prefetch(sums + i * stride + (wide - 1) * tileRows, 1);
    }
    _tile_loadd(4, lhs, tileBytes);
    loadRhs<6, isLong>(rhs);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (wide == 2) {
      loadRhs<7, isLong>(rhs + tileBytes);
      Tiles::template multiply<1, 4, 7>();
    }
    if constexpr (high == 2) {
      _tile_loadd(5, lhs + registerBytes, tileBytes);
      Tiles::template multiply<2, 5, 6>();
    }
    if constexpr (high == 2 && wide == 2)
      Tiles::template multiply<3, 5, 7>();
  }
  _tile_stored(0, at(0, 0), rowBytes);
  if constexpr (wide == 2)
    _tile_stored(1, at(0, 1), rowBytes);
  if constexpr (high == 2)
    _tile_stored(2, at(1, 0), rowBytes);
  if constexpr (high == 2 && wide == 2)
    _tile_stored(3, at(1, 1), rowBytes);
}

/// Copies a part of a block of sums.
template <typename Sum>
static void copySums(const Sum *from, int64_t fromStride, Sum *to, int64_t toStride, int64_t rows,
                     int64_t columns) {
  const __mmask16 low = firstWords(columns), high = columns > 16 ? firstWords(columns - 16) : 0;
  for (int64_t row = 0; row < rows; ++row, from += fromStride, to += toStride) {
    _mm512_mask_storeu_epi32(to, low, _mm512_maskz_loadu_epi32(low, from));
    _mm512_mask_storeu_epi32(to + 16, high, _mm512_maskz_loadu_epi32(high, from + 16));
  }
}

template <typename Tiles>
static void multiply(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sumsData,
                     int64_t stride, int64_t rows, int64_t columns, bool add) {
  using Sum = typename Tiles::Sum;
  const char *lhs = static_cast<const char *>(lhsPanel), *rhs = static_cast<const char *>(rhsPanel);
  Sum *sums = static_cast<Sum *>(sumsData);
  const int64_t steps = summed / Tiles::depth;
  // Registers are stored entirely. At the edge of a matrix they are stored here, together with the
  // sums so far, so that its elements are added in the same order as all others.
  alignas(64) Sum edge[blockRows * blockColumns];
  const bool isWhole = rows % tileRows == 0 && columns % tileRows == 0;
  if (!isWhole && add)
    copySums(sums, stride, edge, blockColumns, rows, columns);
  auto run = [&]<int high, int wide>() {
    const auto block = steps < longSteps ? multiplyBlock<Tiles, high, wide, false>
                                         : multiplyBlock<Tiles, high, wide, true>;
    block(steps, lhs, rhs, isWhole ? sums : edge, isWhole ? stride : blockColumns, add);
  };
  if (rows > tileRows && columns > tileRows)
    run.template operator()<2, 2>();
  else if (rows > tileRows)
    run.template operator()<2, 1>();
  else if (columns > tileRows)
    run.template operator()<1, 2>();
  else
    run.template operator()<1, 1>();
  if (!isWhole)
    copySums(edge, blockColumns, sums, stride, rows, columns);
}

const KernelSet &amxKernels() {
  using enum ElementType;
  static constexpr PanelKernel panels[] = {
      {"amx bf16 32x32", bf16, bf16, f32, blockRows, blockColumns, 32, packRows<uint16_t>,
       packColumns<uint16_t, 2>, multiply<Bf16Tiles>, enterTiles, leaveTiles},
      {"amx i8 i8 32x32", i8, i8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiply<SignedSigned>, enterTiles, leaveTiles},
      {"amx i8 ui8 32x32", i8, ui8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiply<SignedUnsigned>, enterTiles, leaveTiles},
      {"amx ui8 i8 32x32", ui8, i8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiply<UnsignedSigned>, enterTiles, leaveTiles},
      {"amx ui8 ui8 32x32", ui8, ui8, i32, blockRows, blockColumns, 64, packRows<uint8_t>,
       packColumns<uint8_t, 4>, multiply<UnsignedUnsigned>, enterTiles, leaveTiles},
  };
  static constexpr KernelSet set = {panels, {}, {}, {}};
  return set;
}

} // namespace tilewright::runtime::cpu
