#include "tilewright/vgpu/machine/matrix/TileKernels.h"

#include "tilewright/vgpu/machine/handlers/Vectors.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

#if defined(__AVX512F__)
static constexpr unsigned width = 8, rowsAtOnce = 16;
#else
static constexpr unsigned width = 4, rowsAtOnce = 4;
#endif

typedef double Doubles __attribute__((ext_vector_type(width)));
typedef int64_t Longs __attribute__((ext_vector_type(width)));
typedef float Singles __attribute__((ext_vector_type(width)));
typedef double Double4 __attribute__((ext_vector_type(4)));
typedef double Double8 __attribute__((ext_vector_type(8)));
typedef float Float8 __attribute__((ext_vector_type(8)));
typedef uint32_t Word8 __attribute__((ext_vector_type(8)));
typedef uint16_t Short8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));

static void widen(TileElement element, const float *table, const std::byte *base,
                  const uint32_t *offsets, unsigned chunks, float *to) {
  switch (element) {
  case TileElement::f16:
    for (unsigned i = 0; i < chunks; ++i)
      storeAs(to + 8 * i, __builtin_convertvector(loadAs<Half8>(base + offsets[i]), Float8));
    break;
  case TileElement::bf16:
    for (unsigned i = 0; i < chunks; ++i)
      storeAs(to + 8 * i, __builtin_convertvector(loadAs<Short8>(base + offsets[i]), Word8) << 16u);
    break;
  case TileElement::tf32:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 4; ++e)
        storeAs(to + 4 * i + e, loadAs<uint32_t>(base + offsets[i] + 4 * e) & 0xffffe000u);
    break;
  case TileElement::e4m3:
  case TileElement::e5m2:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 16; ++e)
        to[16 * i + e] = table[static_cast<uint8_t>(base[offsets[i] + e])];
    break;
  case TileElement::u8:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 16; ++e)
        to[16 * i + e] = static_cast<uint8_t>(base[offsets[i] + e]);
    break;
  case TileElement::s8:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 16; ++e)
        to[16 * i + e] = static_cast<int8_t>(base[offsets[i] + e]);
    break;
  case TileElement::u4:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 32; ++e)
        to[32 * i + e] = static_cast<float>(
            static_cast<uint8_t>(base[offsets[i] + e / 2]) >> (4 * (e % 2)) & 15);
    break;
  case TileElement::s4:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 32; ++e) {
        const int value = static_cast<uint8_t>(base[offsets[i] + e / 2]) >> (4 * (e % 2)) & 15;
        to[32 * i + e] = static_cast<float>(value < 8 ? value : value - 16);
      }
    break;
  case TileElement::b1:
    for (unsigned i = 0; i < chunks; ++i)
      for (unsigned e = 0; e < 128; ++e)
        to[128 * i + e] =
            static_cast<float>(static_cast<uint8_t>(base[offsets[i] + e / 8]) >> (e % 8) & 1);
    break;
  }
}

/// Collects the extent of a panel, eight elements at a time.
struct Extents {
  Word8 largest = Word8(0), smallest = Word8(~0u);

  VGPU_INLINE void add(Float8 value) {
    const Word8 magnitude = std::bit_cast<Word8>(value) & 0x7fffffffu;
    const Word8 finite = magnitude < 0x7f800000u ? magnitude : Word8(0);
    largest = __builtin_elementwise_max(largest, finite);
    smallest = __builtin_elementwise_min(smallest, finite != 0u ? finite : Word8(~0u));
  }
  VGPU_INLINE void into(TileExtent &extent) const {
    extent.largest = __builtin_reduce_max(largest);
    extent.smallest = __builtin_reduce_min(smallest);
  }
};

/// T is double or float. Only panels of doubles need an extent.
template <typename T>
VGPU_INLINE void packPanelA(const float *from, bool isTransposed, unsigned k, float sign, T *panel,
                            TileExtent *extent) {
  typedef T Eight __attribute__((ext_vector_type(8)));
  Extents extents;
  if (isTransposed || k % 8 != 0) {
    const size_t rowStep = isTransposed ? 1 : k, step = isTransposed ? 16 : 1;
    for (unsigned l = 0; l < k; ++l)
      for (unsigned t = 0; t < 8; ++t) {
        const float even = sign * from[2 * t * rowStep + l * step],
                    odd = sign * from[(2 * t + 1) * rowStep + l * step];
        if (extent)
          extents.add(Float8{even, odd, even, odd, even, odd, even, odd});
        const T e = even, o = odd;
        storeAs(panel + 64 * l + 8 * t, Eight{e, e, e, e, o, o, o, o});
      }
    if (extent)
      extents.into(*extent);
    return;
  }
  for (unsigned t = 0; t < 8; ++t)
    for (unsigned l = 0; l < k; l += 8) {
      const Float8 even = sign * loadAs<Float8>(from + size_t(2 * t) * k + l),
                   odd = sign * loadAs<Float8>(from + size_t(2 * t + 1) * k + l);
      if (extent) {
        extents.add(even);
        extents.add(odd);
      }
      const Eight e = __builtin_convertvector(even, Eight), o = __builtin_convertvector(odd, Eight);
      T *to = panel + 64 * l + 8 * t;
#define VGPU_SPREAD(i)                                                                             \
  storeAs(to + 64 * i, __builtin_shufflevector(e, o, i, i, i, i, 8 + i, 8 + i, 8 + i, 8 + i))
      VGPU_SPREAD(0);
      VGPU_SPREAD(1);
      VGPU_SPREAD(2);
      VGPU_SPREAD(3);
      VGPU_SPREAD(4);
      VGPU_SPREAD(5);
      VGPU_SPREAD(6);
      VGPU_SPREAD(7);
#undef VGPU_SPREAD
    }
  if (extent)
    extents.into(*extent);
}
static void packA(const float *from, bool isTransposed, unsigned k, float sign, double *panel,
                  TileExtent *extent) {
  packPanelA(from, isTransposed, k, sign, panel, extent);
}
static void packAFast(const float *from, bool isTransposed, unsigned k, float sign, float *panel) {
  packPanelA(from, isTransposed, k, sign, panel, nullptr);
}

VGPU_INLINE Float8 interleaveLow(Float8 a, Float8 b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
}
VGPU_INLINE Float8 interleaveHigh(Float8 a, Float8 b) {
  return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
}
VGPU_INLINE Float8 pairsLow(Float8 a, Float8 b) {
  return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
}
VGPU_INLINE Float8 pairsHigh(Float8 a, Float8 b) {
  return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
template <typename T> VGPU_INLINE void storeHalves(T *to, unsigned row, Float8 a, Float8 b) {
  typedef T Eight __attribute__((ext_vector_type(8)));
  // The lower halves belong to row `row`, the upper halves to row + 4.
  storeAs(to + 8 * row,
          __builtin_convertvector(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11), Eight));
  storeAs(
      to + 8 * (row + 4),
      __builtin_convertvector(__builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15), Eight));
}

template <typename T>
VGPU_INLINE void packPanelsB(const float *from, bool isTransposed, unsigned n, unsigned k,
                             T *panels, TileExtent *extents) {
  typedef T Eight __attribute__((ext_vector_type(8)));
  for (unsigned octet = 0; octet < n / 8; ++octet) {
    Extents collected;
    T *to = panels + size_t(octet) * 8 * k;
    if (isTransposed) {
      for (unsigned l = 0; l < k; ++l) {
        const auto row = loadAs<Float8>(from + size_t(l) * n + 8 * octet);
        if (extents)
          collected.add(row);
        storeAs(to + 8 * l, __builtin_convertvector(
                                __builtin_shufflevector(row, row, 0, 2, 4, 6, 1, 3, 5, 7), Eight));
      }
    } else if (k % 8 == 0) {
      for (unsigned l = 0; l < k; l += 8) {
        Float8 c[8];
        for (unsigned i = 0; i < 8; ++i) {
          const unsigned column = i < 4 ? 2 * i : 2 * (i - 4) + 1;
          c[i] = loadAs<Float8>(from + size_t(8 * octet + column) * k + l);
          if (extents)
            collected.add(c[i]);
        }
        const Float8 a0 = interleaveLow(c[0], c[1]), a1 = interleaveHigh(c[0], c[1]),
                     a2 = interleaveLow(c[2], c[3]), a3 = interleaveHigh(c[2], c[3]),
                     a4 = interleaveLow(c[4], c[5]), a5 = interleaveHigh(c[4], c[5]),
                     a6 = interleaveLow(c[6], c[7]), a7 = interleaveHigh(c[6], c[7]);
        storeHalves(to + 8 * l, 0, pairsLow(a0, a2), pairsLow(a4, a6));
        storeHalves(to + 8 * l, 1, pairsHigh(a0, a2), pairsHigh(a4, a6));
        storeHalves(to + 8 * l, 2, pairsLow(a1, a3), pairsLow(a5, a7));
        storeHalves(to + 8 * l, 3, pairsHigh(a1, a3), pairsHigh(a5, a7));
      }
    } else {
      for (unsigned l = 0; l < k; ++l) {
        Float8 row;
        for (unsigned i = 0; i < 8; ++i)
          row[i] = from[size_t(8 * octet + (i < 4 ? 2 * i : 2 * (i - 4) + 1)) * k + l];
        if (extents)
          collected.add(row);
        storeAs(to + 8 * l, __builtin_convertvector(row, Eight));
      }
    }
    if (extents)
      collected.into(extents[octet]);
  }
}
static void packB(const float *from, bool isTransposed, unsigned n, unsigned k, double *panels,
                  TileExtent *extents) {
  packPanelsB(from, isTransposed, n, k, panels, extents);
}
static void packBFast(const float *from, bool isTransposed, unsigned n, unsigned k, float *panels) {
  packPanelsB(from, isTransposed, n, k, panels, nullptr);
}

/// The four even or odd columns (`parity` 0 or 1) of row l of B, repeated for each row of A that a
/// vector holds.
VGPU_INLINE Doubles columnsOf(const double *b, unsigned l, unsigned parity) {
  const auto four = loadAs<Double4>(b + 8 * l + 4 * parity);
#if defined(__AVX512F__)
  return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3);
#else
  return four;
#endif
}

/// The index in the octet's 128 sums of the product of vector `i` of a column of A and the columns
/// of B of one parity.
VGPU_INLINE unsigned sumIndex(unsigned i, unsigned parity) {
  const unsigned element = i * width; // 4 * row
  return 32 * (2 * (element / 32) + parity) + element % 32;
}

VGPU_INLINE void multiplyInto(const double *a, const double *b, unsigned k, double *sums) {
  // Keep as many sums as fit into host registers.
  constexpr unsigned count = rowsAtOnce * 4 / width;
  for (unsigned first = 0; first < 64 / width; first += count) {
    Doubles sum[count][2];
    {
      const Doubles even = columnsOf(b, 0, 0), odd = columnsOf(b, 0, 1);
#pragma clang loop unroll(full)
      for (unsigned i = 0; i < count; ++i) {
        const auto row = loadAs<Doubles>(a + (first + i) * width);
        sum[i][0] = row * even;
        sum[i][1] = row * odd;
      }
    }
    for (unsigned l = 1; l < k; ++l) {
      const Doubles even = columnsOf(b, l, 0), odd = columnsOf(b, l, 1);
#pragma clang loop unroll(full)
      for (unsigned i = 0; i < count; ++i) {
        const auto row = loadAs<Doubles>(a + 64 * l + (first + i) * width);
        sum[i][0] = __builtin_elementwise_fma(row, even, sum[i][0]);
        sum[i][1] = __builtin_elementwise_fma(row, odd, sum[i][1]);
      }
    }
#pragma clang loop unroll(full)
    for (unsigned i = 0; i < count; ++i) {
      storeAs(sums + sumIndex(first + i, 0), sum[i][0]);
      storeAs(sums + sumIndex(first + i, 1), sum[i][1]);
    }
  }
}
static void multiply(const double *a, const double *b, unsigned k, double *sums) {
  multiplyInto(a, b, k, sums);
}

/// The rounding error of `sum = a + b` (Knuth's two-sum).
VGPU_INLINE Doubles lostBy(Doubles a, Doubles b, Doubles sum) {
  const Doubles second = sum - a;
  return (a - (sum - second)) + (b - second);
}

static void multiplyCarefully(const double *a, const double *b, unsigned k, double *high,
                              double *low, uint32_t (&doubtful)[4]) {
  for (uint32_t &lanes : doubtful)
    lanes = 0;
  for (unsigned i = 0; i < 64 / width; ++i)
    for (unsigned parity = 0; parity < 2; ++parity) {
      const unsigned index = sumIndex(i, parity);
      Doubles sum = loadAs<Doubles>(high + index), rest(0);
      Longs lost(0);
      for (unsigned l = 0; l < k; ++l) {
        const Doubles product = loadAs<Doubles>(a + 64 * l + i * width) * columnsOf(b, l, parity);
        const Doubles next = sum + product, error = lostBy(sum, product, next);
        const Doubles nextRest = rest + error;
        // A NaN also counts as lost.
        lost |= lostBy(rest, error, nextRest) != 0.0;
        sum = next, rest = nextRest;
      }
      storeAs(high + index, sum);
      storeAs(low + index, rest);
      for (unsigned e = 0; e < width; ++e)
        if (lost[e])
          doubtful[(index + e) / 32] |= 1u << (index + e) % 32;
    }
}

VGPU_INLINE Doubles oddSum(Doubles a, Doubles b) {
  const Doubles sum = a + b, lost = lostBy(a, b, sum);
  // Of the two doubles around the exact sum, choose the odd one: away from zero if the rounding
  // error has the sign of the sum. The error of an infinity is a NaN, which compares as neither.
  const Longs bits = std::bit_cast<Longs>(sum);
  const Longs isEven = (bits & 1) == 0, isInexact = (lost > 0.0) | (lost < 0.0);
  const Longs step = ((std::bit_cast<Longs>(lost) ^ bits) >> 63) | 1;
  return std::bit_cast<Doubles>(bits + (step & isEven & isInexact));
}
static void roundToOdd(const double *high, const double *low, double *results) {
  for (unsigned i = 0; i < 128; i += width)
    storeAs(results + i, oddSum(loadAs<Doubles>(high + i), loadAs<Doubles>(low + i)));
}

static void accumulate(const double *a, const double *b, unsigned k, bool adds,
                       float *const *registers) {
  alignas(64) double sums[128];
  multiplyInto(a, b, k, sums);
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned lane = 0; lane < 32; lane += width) {
      float *target = registers[r] + lane;
      const Doubles before =
          adds ? __builtin_convertvector(loadAs<Singles>(target), Doubles) : Doubles(0);
      const Doubles sum = oddSum(loadAs<Doubles>(sums + 32 * r + lane), before);
      const Singles rounded = __builtin_convertvector(sum, Singles);
      storeAs(target, rounded == rounded ? rounded : Singles(std::bit_cast<float>(0x7fffffffu)));
    }
}

// Products in f32.

#if defined(__AVX512F__)
static constexpr unsigned floatWidth = 16, vectorsAtOnce = 4, octetsAtOnce = 2;
#else
static constexpr unsigned floatWidth = 8, vectorsAtOnce = 4, octetsAtOnce = 1;
#endif
typedef float Floats __attribute__((ext_vector_type(floatWidth)));
typedef float Float4 __attribute__((ext_vector_type(4)));

/// Like columnsOf(), for floats.
VGPU_INLINE Floats fastColumnsOf(const float *b, unsigned l, unsigned parity) {
  const auto four = loadAs<Float4>(b + 8 * l + 4 * parity);
#if defined(__AVX512F__)
  return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#else
  return __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3);
#endif
}

/// Adds the products of `count` octets, as many as fit into host registers.
template <unsigned count>
VGPU_INLINE void accumulateOctets(const float *a, const float *b, unsigned k, bool adds,
                                  float *const *registers) {
  for (unsigned first = 0; first < 64 / floatWidth; first += vectorsAtOnce) {
    Floats sums[count][vectorsAtOnce][2];
    // Where in the registers the sums of vector i are; see sumIndex().
    auto placeOf = [&](unsigned octet, unsigned i, unsigned parity) {
      const unsigned element = (first + i) * floatWidth;
      return registers[4 * octet + 2 * (element / 32) + parity] + element % 32;
    };
#pragma clang loop unroll(full)
    for (unsigned octet = 0; octet < count; ++octet)
#pragma clang loop unroll(full)
      for (unsigned i = 0; i < vectorsAtOnce; ++i)
#pragma clang loop unroll(full)
        for (unsigned parity = 0; parity < 2; ++parity)
          sums[octet][i][parity] = adds ? loadAs<Floats>(placeOf(octet, i, parity)) : Floats(0);
    for (unsigned l = 0; l < k; ++l) {
      Floats columns[count][2];
#pragma clang loop unroll(full)
      for (unsigned octet = 0; octet < count; ++octet)
#pragma clang loop unroll(full)
        for (unsigned parity = 0; parity < 2; ++parity)
          columns[octet][parity] = fastColumnsOf(b + size_t(octet) * 8 * k, l, parity);
#pragma clang loop unroll(full)
      for (unsigned i = 0; i < vectorsAtOnce; ++i) {
        const auto row = loadAs<Floats>(a + 64 * l + (first + i) * floatWidth);
#pragma clang loop unroll(full)
        for (unsigned octet = 0; octet < count; ++octet)
#pragma clang loop unroll(full)
          for (unsigned parity = 0; parity < 2; ++parity)
            sums[octet][i][parity] =
                __builtin_elementwise_fma(row, columns[octet][parity], sums[octet][i][parity]);
      }
    }
#pragma clang loop unroll(full)
    for (unsigned octet = 0; octet < count; ++octet)
#pragma clang loop unroll(full)
      for (unsigned i = 0; i < vectorsAtOnce; ++i)
#pragma clang loop unroll(full)
        for (unsigned parity = 0; parity < 2; ++parity) {
          const Floats sum = sums[octet][i][parity];
          storeAs(placeOf(octet, i, parity),
                  sum == sum ? sum : Floats(std::bit_cast<float>(0x7fffffffu)));
        }
  }
}

static void accumulateFast(const float *a, const float *b, unsigned k, unsigned octets, bool adds,
                           float *const *registers) {
  unsigned octet = 0;
  for (; octet + octetsAtOnce <= octets; octet += octetsAtOnce)
    accumulateOctets<octetsAtOnce>(a, b + size_t(octet) * 8 * k, k, adds, registers + 4 * octet);
  for (; octet < octets; ++octet)
    accumulateOctets<1>(a, b + size_t(octet) * 8 * k, k, adds, registers + 4 * octet);
}

// In Fragments.cpp.
void multiplyFragments(const FragmentOperand &a, const FragmentOperand &b, const std::byte *base,
                       const float *const *c, float *const *d);

extern const TileKernels tileKernelTable = {
    widen,      packA,     packB,     multiply,       multiplyCarefully, roundToOdd,
    accumulate, packAFast, packBFast, accumulateFast, multiplyFragments};

} // namespace tilewright::vgpu::machine::VGPU_ISA
