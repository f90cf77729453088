// The loops of Kernels.h, written once for vectors of any length.
//
// Every source that includes this is compiled for a different instruction set. Everything here is
// therefore in an unnamed namespace and does not call the standard library: the linker would merge
// a template that two such sources share, and a machine without AVX-512 might get the copy that
// needs it.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELTEMPLATES_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELTEMPLATES_H

#include "tilewright/runtime/cpu/matmul/Kernels.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512BW__)
#include "tilewright/runtime/cpu/matmul/PackAvx512.h"
#endif

namespace tilewright::runtime::cpu {
namespace {

#define TILEWRIGHT_UNROLL _Pragma("clang loop unroll(full)")

template <typename T, int length> struct VectorOf {
  typedef T Type __attribute__((ext_vector_type(length)));
  typedef T Unaligned __attribute__((ext_vector_type(length), aligned(alignof(T))));
};

template <typename V> inline V loadVector(const void *from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}
template <typename V> inline void storeVector(void *to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

/// Loads the first `count` elements; the others are zero and are not read.
template <typename T, int length>
inline typename VectorOf<T, length>::Type loadPart(const T *from, int64_t count) {
  using V = typename VectorOf<T, length>::Type;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
    return (V)_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), from);
  if constexpr (sizeof(V) == 64 && sizeof(T) == 8)
    return (V)_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << count) - 1), from);
#endif
  V value = {};
  __builtin_memcpy(&value, from, static_cast<size_t>(count) * sizeof(T));
  return value;
}
template <typename T, int length>
inline void storePart(T *to, typename VectorOf<T, length>::Type value, int64_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  using V = typename VectorOf<T, length>::Type;
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4)
    return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1), (__m512i)value);
  if constexpr (sizeof(V) == 64 && sizeof(T) == 8)
    return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << count) - 1), (__m512i)value);
#endif
  __builtin_memcpy(to, &value, static_cast<size_t>(count) * sizeof(T));
}

/// Writes a block of sums of `rowCount` x `vectors` vectors to a part of the result.
template <typename T, int length, int rowCount, int vectors>
inline void storeBlock(const typename VectorOf<T, length>::Type (&block)[rowCount][vectors],
                       T *sums, int64_t stride, int64_t rows, int64_t columns, bool add) {
  using V = typename VectorOf<T, length>::Type;
  if (rows == rowCount && columns == length * vectors) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i) {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j) {
        T *to = sums + i * stride + j * length;
        storeVector(to, add ? loadVector<V>(to) + block[i][j] : block[i][j]);
      }
    }
    return;
  }
  // At the edge of the result, copy the block to memory, which can be indexed by row and column.
  V copy[rowCount][vectors];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors; ++j)
      copy[i][j] = block[i][j];
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j * length < columns; ++j) {
      T *to = sums + i * stride + j * length;
      const int64_t count = columns - j * length < length ? columns - j * length : length;
      V value = copy[i][j];
      if (add)
        value += loadPart<T, length>(to, count);
      storePart<T, length>(to, value, count);
    }
}

/// Initialises a block, with the previous sums if `add`. Loads them before anything is stored: rows
/// of a result are often a multiple of 4 KiB apart, and a load stalls on an earlier store to the
/// same page offset (4K aliasing).
template <typename T, int length, int rowCount, int vectors>
inline void beginBlock(typename VectorOf<T, length>::Type (&block)[rowCount][vectors],
                       const T *sums, int64_t stride, bool add) {
  using V = typename VectorOf<T, length>::Type;
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors; ++j)
      block[i][j] = add ? loadVector<V>(sums + i * stride + j * length) : V();
  }
}

/// Real and integer types: panels are [summed][line]. Computes the first `used` rows of a panel.
template <typename T, int length, int rowCount, int vectors, int used>
inline void multiplyRowsOfPanel(int64_t summed, const T *lhs, const T *rhs, T *sums, int64_t stride,
                                int64_t rows, int64_t columns, bool add) {
  using V = typename VectorOf<T, length>::Type;
  V block[used][vectors];
  const bool isWhole = rows == used && columns == length * vectors;
  if (isWhole && add)
    beginBlock<T, length, used, vectors>(block, sums, stride, true);
  else
    beginBlock<T, length, used, vectors>(block, nullptr, 0, false);
  for (int64_t k = 0; k < summed; ++k, lhs += rowCount, rhs += length * vectors) {
    V right[vectors];
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors; ++j)
      right[j] = loadVector<V>(rhs + j * length);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < used; ++i) {
      const V left = lhs[i];
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] += left * right[j];
    }
  }
  storeBlock<T, length, used, vectors>(block, sums, stride, rows, columns, add && !isWhole);
}

template <typename T, int length, int rowCount, int vectors>
void multiplyPanels(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sumsData,
                    int64_t stride, int64_t rows, int64_t columns, bool add) {
  const T *lhs = static_cast<const T *>(lhsPanel), *rhs = static_cast<const T *>(rhsPanel);
  T *sums = static_cast<T *>(sumsData);
  // The last panel of a matrix may be partial. If a quarter or half of the rows suffices, compute
  // only these.
  constexpr int few = (rowCount + 2) / 4, half = (rowCount + 1) / 2;
  if (rows <= few)
    multiplyRowsOfPanel<T, length, rowCount, vectors, few>(summed, lhs, rhs, sums, stride, rows,
                                                           columns, add);
  else if (rows <= half)
    multiplyRowsOfPanel<T, length, rowCount, vectors, half>(summed, lhs, rhs, sums, stride, rows,
                                                            columns, add);
  else
    multiplyRowsOfPanel<T, length, rowCount, vectors, rowCount>(summed, lhs, rhs, sums, stride,
                                                                rows, columns, add);
}

/// Types of two bytes: panels are [summed / 2][line][2], so a vector of words has a pair of
/// elements of each line. Pairs::add(sums, left, right) adds the products of both elements.
template <typename Pairs, typename T, int length, int rowCount>
void multiplyPairs(int64_t summed, const void *lhsPanel, const void *rhsPanel, void *sums,
                   int64_t stride, int64_t rows, int64_t columns, bool add) {
  using V = typename VectorOf<T, length>::Type;
  using Words = typename VectorOf<int32_t, length>::Type;
  constexpr int vectors = 2;
  const auto *lhs = static_cast<const int32_t *>(lhsPanel);
  const auto *rhs = static_cast<const int32_t *>(rhsPanel);
  V block[rowCount][vectors] = {};
  for (int64_t k = 0; k < summed; k += 2, lhs += rowCount, rhs += vectors * length) {
    const Words right[vectors] = {loadVector<Words>(rhs), loadVector<Words>(rhs + length)};
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i) {
      const Words left = lhs[i];
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] = Pairs::add(block[i][j], left, right[j]);
    }
  }
  storeBlock<T, length, rowCount, vectors>(block, static_cast<T *>(sums), stride, rows, columns,
                                           add);
}

/// sum += left * right with fused multiply-adds, two per component.
struct FusedComplex {
  template <typename V>
  static void add(V &real, V &imag, V leftReal, V leftImag, V rightReal, V rightImag) {
    real += leftReal * rightReal;
    real -= leftImag * rightImag;
    imag += leftReal * rightImag;
    imag += leftImag * rightReal;
  }
};
/// sum += left * right, with the product rounded as by `multiply`: a number times its conjugate is
/// real, and a complex number times a real one equals two real products.
struct RoundedComplex {
  template <typename V>
  static void add(V &real, V &imag, V leftReal, V leftImag, V rightReal, V rightImag) {
#pragma clang fp contract(off)
    real += leftReal * rightReal - leftImag * rightImag;
    imag += leftReal * rightImag + leftImag * rightReal;
  }
};
/// Sums of up to this many products use RoundedComplex; longer ones use FusedComplex, which is
/// faster.
constexpr int64_t maxRoundedComplex = 64;

/// Complex types: panels are [summed][real and imaginary][line], so that products need no shuffles;
/// the sums are interleaved at the end.
template <typename Arithmetic, typename T, int length, int rowCount, int vectors>
inline void multiplyComplexPanelsWith(int64_t summed, const T *lhs, const T *rhs, T *out,
                                      int64_t stride, int64_t rows, int64_t columns, bool add) {
  using V = typename VectorOf<T, length>::Type;
  constexpr int width = length * vectors;
  V real[rowCount][vectors] = {}, imag[rowCount][vectors] = {};
  for (int64_t k = 0; k < summed; ++k, lhs += 2 * rowCount, rhs += 2 * width) {
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors; ++j) {
      const V rightReal = loadVector<V>(rhs + j * length);
      const V rightImag = loadVector<V>(rhs + width + j * length);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < rowCount; ++i)
        Arithmetic::add(real[i][j], imag[i][j], V(lhs[i]), V(lhs[rowCount + i]), rightReal,
                        rightImag);
    }
  }
  T parts[2][rowCount][width];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors; ++j) {
      storeVector(&parts[0][i][j * length], real[i][j]);
      storeVector(&parts[1][i][j * length], imag[i][j]);
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t part = 0; part < 2; ++part) {
        T &sum = out[(i * stride + j) * 2 + part];
        sum = (add ? sum : T()) + parts[part][i][j];
      }
}

template <typename T, int length, int rowCount, int vectors>
void multiplyComplexPanels(int64_t summed, const void *lhsPanel, const void *rhsPanel,
                           void *resultSums, int64_t stride, int64_t rows, int64_t columns,
                           bool add) {
  const T *lhs = static_cast<const T *>(lhsPanel), *rhs = static_cast<const T *>(rhsPanel);
  T *sums = static_cast<T *>(resultSums);
  if (summed <= maxRoundedComplex)
    multiplyComplexPanelsWith<RoundedComplex, T, length, rowCount, vectors>(
        summed, lhs, rhs, sums, stride, rows, columns, add);
  else
    multiplyComplexPanelsWith<FusedComplex, T, length, rowCount, vectors>(
        summed, lhs, rhs, sums, stride, rows, columns, add);
}

/// panel[summed / group][line][summed % group], for kernels that read `group` adjacent elements at
/// once.
template <typename T, int width, int group>
void packPanel(const void *source, int64_t lineStride, int64_t summedStride, int64_t lines,
               int64_t summed, void *panel) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(T) * group == 4)
    if (packContiguous<sizeof(T), width>(source, lineStride, summedStride, lines, summed, panel))
      return;
#endif
  const T *from = static_cast<const T *>(source);
  T *to = static_cast<T *>(panel);
  const int64_t whole = summed / group * group;
  if (lines == width && lineStride == 1) {
    for (int64_t k = 0; k < whole; k += group, to += width * group)
      for (int line = 0; line < width; ++line)
        for (int g = 0; g < group; ++g)
          to[line * group + g] = from[(k + g) * summedStride + line];
  } else if (lines == width) {
    for (int64_t k = 0; k < whole; k += group, to += width * group)
      for (int line = 0; line < width; ++line)
        for (int g = 0; g < group; ++g)
          to[line * group + g] = from[line * lineStride + (k + g) * summedStride];
  } else {
    for (int64_t k = 0; k < whole; k += group, to += width * group) {
      for (int64_t line = 0; line < lines; ++line)
        for (int g = 0; g < group; ++g)
          to[line * group + g] = from[line * lineStride + (k + g) * summedStride];
      for (int64_t i = lines * group; i < width * group; ++i)
        to[i] = T();
    }
  }
  if (whole == summed)
    return;
  for (int64_t line = 0; line < width; ++line)
    for (int64_t g = 0; g < group; ++g)
      to[line * group + g] = line < lines && whole + g < summed
                                 ? from[line * lineStride + (whole + g) * summedStride]
                                 : T();
}

/// panel[summed][real and imaginary][line].
template <typename T, int width>
void packComplexPanel(const void *source, int64_t lineStride, int64_t summedStride, int64_t lines,
                      int64_t summed, void *panel) {
  const T *from = static_cast<const T *>(source);
  T *to = static_cast<T *>(panel);
  for (int64_t k = 0; k < summed; ++k, to += 2 * width)
    for (int64_t line = 0; line < width; ++line)
      for (int64_t part = 0; part < 2; ++part)
        to[part * width + line] =
            line < lines ? from[(line * lineStride + k * summedStride) * 2 + part] : T();
}

/// Computes `rowCount` rows and up to `length * vectors` columns directly from the operands.
template <typename T, int length, int rowCount, int vectors>
inline void directBlock(int64_t summed, const T *lhs, int64_t lhsRowStride, int64_t lhsSummedStride,
                        const T *rhs, int64_t rhsStride, T *sums, int64_t stride,
                        int64_t lastCount) {
  using V = typename VectorOf<T, length>::Type;
  V block[rowCount][vectors] = {};
  for (int64_t k = 0; k < summed; ++k, rhs += rhsStride, lhs += lhsSummedStride) {
    V right[vectors];
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors - 1; ++j)
      right[j] = loadVector<V>(rhs + j * length);
    right[vectors - 1] = lastCount == length
                             ? loadVector<V>(rhs + (vectors - 1) * length)
                             : loadPart<T, length>(rhs + (vectors - 1) * length, lastCount);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i) {
      const V left = lhs[i * lhsRowStride];
      TILEWRIGHT_UNROLL
      for (int j = 0; j < vectors; ++j)
        block[i][j] += left * right[j];
    }
  }
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int j = 0; j < vectors - 1; ++j)
      storeVector(sums + i * stride + j * length, block[i][j]);
    storePart<T, length>(sums + i * stride + (vectors - 1) * length, block[i][vectors - 1],
                         lastCount);
  }
}

/// Processes rows in blocks of `rowCount`, then of half as many.
template <typename T, int length, int rowCount, int vectors>
inline void directRows(int64_t rows, int64_t summed, const T *lhs, int64_t lhsRowStride,
                       int64_t lhsSummedStride, const T *rhs, int64_t rhsStride, T *sums,
                       int64_t stride, int64_t lastCount) {
  for (; rows >= rowCount;
       rows -= rowCount, lhs += rowCount * lhsRowStride, sums += rowCount * stride)
    directBlock<T, length, rowCount, vectors>(summed, lhs, lhsRowStride, lhsSummedStride, rhs,
                                              rhsStride, sums, stride, lastCount);
  if constexpr (rowCount > 1)
    if (rows > 0)
      directRows<T, length, rowCount / 2, vectors>(rows, summed, lhs, lhsRowStride, lhsSummedStride,
                                                   rhs, rhsStride, sums, stride, lastCount);
}

template <typename T, int length, int rowCount, int vectors>
void multiplyDirect(int64_t rows, int64_t columns, int64_t summed, const void *lhsData,
                    int64_t lhsRowStride, int64_t lhsSummedStride, const void *rhsData,
                    int64_t rhsStride, void *sumsData, int64_t stride) {
  const T *lhs = static_cast<const T *>(lhsData), *rhs = static_cast<const T *>(rhsData);
  T *sums = static_cast<T *>(sumsData);
  constexpr int64_t width = length * vectors;
  int64_t column = 0;
  for (; columns - column > (vectors - 1) * length; column += width) {
    const int64_t left = columns - column;
    const int64_t last = left < width ? left - (vectors - 1) * length : length;
    directRows<T, length, rowCount, vectors>(rows, summed, lhs, lhsRowStride, lhsSummedStride,
                                             rhs + column, rhsStride, sums + column, stride, last);
  }
  for (; column < columns; column += length) {
    const int64_t last = columns - column < length ? columns - column : length;
    directRows<T, length, rowCount, 1>(rows, summed, lhs, lhsRowStride, lhsSummedStride,
                                       rhs + column, rhsStride, sums + column, stride, last);
  }
}

/// Loads elements of rhs and widens them to the type of the sums, a vector at a time.
template <typename From, typename To, int length> struct Widen {
  using V = typename VectorOf<To, length>::Type;
  static V load(const From *from) {
    return __builtin_convertvector(loadVector<typename VectorOf<From, length>::Type>(from), V);
  }
  static To one(From from) { return static_cast<To>(from); }
};
/// bf16 is the upper half of an f32.
struct Bf16 {
  uint16_t bits;
};
template <int length> struct Widen<Bf16, float, length> {
  using V = typename VectorOf<float, length>::Type;
  static V load(const Bf16 *from) {
    using U = typename VectorOf<uint32_t, length>::Type;
    return (
        V)(__builtin_convertvector(loadVector<typename VectorOf<uint16_t, length>::Type>(from), U)
           << 16);
  }
  static float one(Bf16 from) { return __builtin_bit_cast(float, uint32_t(from.bits) << 16); }
};

template <typename From, typename To, int length>
void widenRun(const void *source, void *target, int64_t count) {
  using Load = Widen<From, To, length>;
  const From *from = static_cast<const From *>(source);
  To *to = static_cast<To *>(target);
  int64_t i = 0;
  for (; i + length <= count; i += length)
    storeVector(to + i, Load::load(from + i));
  for (; i < count; ++i)
    to[i] = Load::one(from[i]);
}

/// Rounds to nearest, ties to even. A NaN becomes the quiet NaN of the same sign.
template <typename U> inline U roundToBf16(U bits) {
  const U rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const U nan = ((bits >> 16) & 0x8000) | 0x7fc0;
  return (bits & 0x7fffffff) > 0x7f800000 ? nan : rounded;
}
template <int length> void narrowRunToBf16(const void *source, void *target, int64_t count) {
  using U = typename VectorOf<uint32_t, length>::Type;
  using H = typename VectorOf<uint16_t, length>::Type;
  const uint32_t *from = static_cast<const uint32_t *>(source);
  uint16_t *to = static_cast<uint16_t *>(target);
  int64_t i = 0;
  for (; i + length <= count; i += length)
    storeVector(to + i, __builtin_convertvector(roundToBf16(loadVector<U>(from + i)), H));
  for (; i < count; ++i)
    to[i] = static_cast<uint16_t>(roundToBf16(from[i]));
}

/// sums[rowCount][columns] += lhs[rowCount][streams] * rhs[streams][columns]: as many streams as
/// the hardware prefetchers track; loads and stores the sums once for all of them.
template <typename From, typename To, int length, int rowCount, int streams>
inline void addStreams(int64_t columns, const To *lhs, int64_t lhsStride, const From *rhs,
                       int64_t rhsStride, To *sums) {
  using Load = Widen<From, To, length>;
  using V = typename VectorOf<To, length>::Type;
  V left[rowCount][streams];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int s = 0; s < streams; ++s)
      left[i][s] = lhs[i * lhsStride + s];
  }
  int64_t n = 0;
  for (; n + length <= columns; n += length) {
    V added[rowCount];
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i)
      added[i] = loadVector<V>(sums + i * columns + n);
    TILEWRIGHT_UNROLL
    for (int s = 0; s < streams; ++s) {
      const V right = Load::load(rhs + s * rhsStride + n);
      // Prefetch the next streams, because hardware prefetchers do not cross pages and each stream
      // begins on another page.
      __builtin_prefetch(rhs + (streams + s) * rhsStride + n);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < rowCount; ++i)
        added[i] += left[i][s] * right;
    }
    TILEWRIGHT_UNROLL
    for (int i = 0; i < rowCount; ++i)
      storeVector(sums + i * columns + n, added[i]);
  }
  for (; n < columns; ++n)
    for (int i = 0; i < rowCount; ++i) {
      To sum = sums[i * columns + n];
      for (int s = 0; s < streams; ++s)
        sum += lhs[i * lhsStride + s] * Load::one(rhs[s * rhsStride + n]);
      sums[i * columns + n] = sum;
    }
}

/// Multiplies all rows of lhs by `streams` rows of rhs, while these are in L1.
template <typename From, typename To, int length, int streams>
inline void addStreamsToRows(int64_t rows, int64_t columns, const To *lhs, int64_t lhsStride,
                             const From *rhs, int64_t rhsStride, To *sums) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4)
    addStreams<From, To, length, 4, streams>(columns, lhs + row * lhsStride, lhsStride, rhs,
                                             rhsStride, sums + row * columns);
  for (; row < rows; ++row)
    addStreams<From, To, length, 1, streams>(columns, lhs + row * lhsStride, lhsStride, rhs,
                                             rhsStride, sums + row * columns);
}

template <typename From, typename To, int length>
void addRowsTimesMatrix(int64_t rows, int64_t columns, int64_t summed, const void *lhsData,
                        const void *rhsData, int64_t rhsStride, void *sumsData) {
  const To *lhs = static_cast<const To *>(lhsData);
  const From *rhs = static_cast<const From *>(rhsData);
  To *sums = static_cast<To *>(sumsData);
  int64_t k = 0;
  auto add = [&]<int streams>() {
    for (; k + streams <= summed; k += streams, rhs += streams * rhsStride)
      addStreamsToRows<From, To, length, streams>(rows, columns, lhs + k, summed, rhs, rhsStride,
                                                  sums);
  };
  // For four rows, the broadcast lhs elements of four streams already fill the registers, so use
  // eight streams only for fewer rows.
  if (rows < 4)
    add.template operator()<8>();
  add.template operator()<4>();
  add.template operator()<1>();
}

/// The sum of all lanes: adds the upper half to the lower half until one lane is left.
template <typename T, int length> inline T sumLanes(typename VectorOf<T, length>::Type value) {
  if constexpr (length == 2) {
    return value[0] + value[1];
  } else {
    typename VectorOf<T, length / 2>::Type low = value.lo, high = value.hi;
    return sumLanes<T, length / 2>(low + high);
  }
}

/// Multiplies `rowCount` rows by four columns of rhs, each contiguous along the sum.
template <typename From, typename To, int length, int rowCount>
inline void multiplyLines(int64_t count, int64_t summed, const To *lhs, const From *const *line,
                          To *sums, int64_t stride) {
  using Load = Widen<From, To, length>;
  using V = typename VectorOf<To, length>::Type;
  constexpr int streams = 4, halves = rowCount == 1 ? 2 : 1;
  V block[rowCount][streams][halves] = {};
  int64_t k = 0;
  for (; k + halves * length <= summed; k += halves * length) {
    TILEWRIGHT_UNROLL
    for (int half = 0; half < halves; ++half) {
      V right[streams];
      TILEWRIGHT_UNROLL
      for (int s = 0; s < streams; ++s)
        right[s] = Load::load(line[s] + k + half * length);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < rowCount; ++i) {
        const V left = loadVector<V>(lhs + i * summed + k + half * length);
        TILEWRIGHT_UNROLL
        for (int s = 0; s < streams; ++s)
          block[i][s][half] += left * right[s];
      }
    }
  }
  // Unrolled, so that the block stays in registers; sums of missing columns are discarded.
  To all[rowCount][streams];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < rowCount; ++i) {
    TILEWRIGHT_UNROLL
    for (int s = 0; s < streams; ++s) {
      if constexpr (halves == 2)
        block[i][s][0] += block[i][s][1];
      all[i][s] = sumLanes<To, length>(block[i][s][0]);
    }
  }
  for (int i = 0; i < rowCount; ++i)
    for (int s = 0; s < count; ++s) {
      To sum = all[i][s];
      for (int64_t rest = k; rest < summed; ++rest)
        sum += lhs[i * summed + rest] * Load::one(line[s][rest]);
      sums[i * stride + s] = sum;
    }
}

template <typename From, typename To, int length>
void rowsTimesTransposed(int64_t rows, int64_t columns, int64_t summed, const void *lhsData,
                         const void *rhsData, int64_t rhsStride, void *sumsData) {
  constexpr int streams = 4;
  const To *lhs = static_cast<const To *>(lhsData);
  To *sums = static_cast<To *>(sumsData);
  for (int64_t n = 0; n < columns; n += streams) {
    const int64_t count = columns - n < streams ? columns - n : streams;
    const From *line[streams];
    for (int s = 0; s < streams; ++s)
      line[s] = static_cast<const From *>(rhsData) + (n + (s < count ? s : 0)) * rhsStride;
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4)
      multiplyLines<From, To, length, 4>(count, summed, lhs + row * summed, line,
                                         sums + row * columns + n, columns);
    for (; row < rows; ++row)
      multiplyLines<From, To, length, 1>(count, summed, lhs + row * summed, line,
                                         sums + row * columns + n, columns);
  }
}

} // namespace
} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELTEMPLATES_H
