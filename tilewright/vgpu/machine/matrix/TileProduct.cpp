#include "tilewright/vgpu/machine/matrix/TileProduct.h"

#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <new>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

namespace {
struct ElementFacts {
  TileElement element;
  int bits; // of the significand
  int last; // elements are multiples of 2^last
};
} // namespace

static ElementFacts factsOf(Modifier type) {
  switch (type) {
  case Modifier::f16:
    return {TileElement::f16, 11, -24};
  case Modifier::bf16:
    return {TileElement::bf16, 8, -133};
  case Modifier::tf32:
    return {TileElement::tf32, 11, -136};
  case Modifier::e4m3:
    return {TileElement::e4m3, 4, -9};
  case Modifier::e5m2:
    return {TileElement::e5m2, 3, -16};
  case Modifier::u8:
    return {TileElement::u8, 8, 0};
  case Modifier::s8:
    return {TileElement::s8, 8, 0};
  case Modifier::u4:
    return {TileElement::u4, 4, 0};
  case Modifier::s4:
    return {TileElement::s4, 4, 0};
  default:
    return {TileElement::b1, 1, 0};
  }
}

TileElement tileElementOf(Modifier type) { return factsOf(type).element; }

static constexpr std::align_val_t line{64};
void TileProduct::Free::operator()(void *memory) const { ::operator delete(memory, line); }
template <typename T> static T *allocate(size_t count) {
  return static_cast<T *>(::operator new(count * sizeof(T), line));
}

void TileProduct::begin(Modifier newA, Modifier newB, unsigned newN, unsigned newK, bool fast) {
  aType = newA, bType = newB;
  aPrecision = {factsOf(aType).bits, factsOf(aType).last};
  bPrecision = {factsOf(bType).bits, factsOf(bType).last};
  begin(newN, newK, fast);
}
void TileProduct::beginValues(int aBits, int bBits, unsigned newN, unsigned newK, bool fast) {
  constexpr int lastOfFloat = -149;
  aPrecision = {aBits, lastOfFloat}, bPrecision = {bBits, lastOfFloat};
  begin(newN, newK, fast);
}
void TileProduct::begin(unsigned newN, unsigned newK, bool fast) {
  n = newN, k = newK, isFast = fast;
  const size_t needed = size_t(std::max(n, 16u)) * k;
  if (needed <= capacity)
    return;
  capacity = needed;
  staged.reset(allocate<float>(needed));
  // The panel of A stores every element four times; its depth is at most that of B.
  aPanel.reset(allocate<double>(4 * needed));
  bPanels.reset(allocate<double>(needed));
  bExtents = std::make_unique<TileExtent[]>(needed / 8);
}

/// A fast product stores its floats in the memory of the panels.
static float *floatsOf(double *panel) { return reinterpret_cast<float *>(panel); }

void TileProduct::readA(const std::byte *base, std::span<const uint32_t> offsets, bool isTransposed,
                        bool isNegated) {
  const auto chunks = static_cast<unsigned>(offsets.size());
  kernels.widen(factsOf(aType).element, elementTable(aType), base, offsets.data(), chunks,
                staged.get());
  std::fill(staged.get() + size_t(chunks) * perChunk(aType), staged.get() + size_t(16) * k, 0.0f);
  packA(staged.get(), isTransposed, isNegated);
}
void TileProduct::packA(const float *values, bool isTransposed, bool isNegated) {
  const float sign = isNegated ? -1.0f : 1.0f;
  if (isFast)
    kernels.packAFast(values, isTransposed, k, sign, floatsOf(aPanel.get()));
  else
    kernels.packA(values, isTransposed, k, sign, aPanel.get(), &aExtent);
}
void TileProduct::readAValues(const float *rows, bool isNegated) { packA(rows, false, isNegated); }
void TileProduct::readBValues(const float *columns) { packB(columns, false, nullptr); }

void TileProduct::readB(const std::byte *base, std::span<const uint32_t> offsets, bool isTransposed,
                        float *packed) {
  kernels.widen(factsOf(bType).element, elementTable(bType), base, offsets.data(),
                static_cast<unsigned>(offsets.size()), staged.get());
  packB(staged.get(), isTransposed, packed);
}
void TileProduct::packB(const float *values, bool isTransposed, float *packed) {
  if (isFast) {
    float *panels = packed ? packed : floatsOf(bPanels.get());
    kernels.packBFast(values, isTransposed, n, k, panels);
    fastB = panels;
  } else {
    kernels.packB(values, isTransposed, n, k, bPanels.get(), bExtents.get());
  }
}

/// The exponent e such that every element is a multiple of 2^e.
int TileProduct::lastBit(const TileExtent &extent, const Precision &precision) {
  return std::max(static_cast<int>(extent.smallest >> 23) - 127 - (precision.bits - 1),
                  precision.last);
}
/// The exponent e such that every magnitude is below 2^e.
static int topBit(const TileExtent &extent) { return static_cast<int>(extent.largest >> 23) - 126; }

bool TileProduct::isExact(unsigned octet) const {
  const TileExtent &bExtent = bExtents[octet];
  if (aExtent.largest == 0 || bExtent.largest == 0)
    return true;
  const int q = lastBit(aExtent, aPrecision) + lastBit(bExtent, bPrecision);
  return topBit(aExtent) + topBit(bExtent) + std::countr_zero(k) - q <= 53;
}

// Fixed point.

namespace {
/// A sum of doubles with magnitudes between 2^-320 and 2^320, as a fixed-point number of twelve
/// 64-bit words.
class FixedPoint {
public:
  void add(double value) {
    if (value == 0)
      return;
    int exponent;
    const double fraction = std::frexp(value, &exponent);
    const auto digits = static_cast<int64_t>(std::ldexp(fraction, 53));
    const unsigned position = static_cast<unsigned>(exponent - 53 + lowest);
    // 53 digits at any position need two words; the sign extends into all words above.
    const auto wide = static_cast<__int128>(digits) << (position % 64);
    unsigned __int128 carry = 0;
    for (unsigned i = position / 64, part = 0; i < words.size(); ++i, ++part) {
      const uint64_t term = part == 0   ? static_cast<uint64_t>(wide)
                            : part == 1 ? static_cast<uint64_t>(wide >> 64)
                            : wide < 0  ? ~uint64_t(0)
                                        : 0;
      carry += words[i];
      carry += term;
      words[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }

  /// The sum rounded to odd.
  double toDouble() const {
    std::array<uint64_t, 12> magnitude = words;
    const bool isNegative = words.back() >> 63;
    if (isNegative) {
      bool carries = true;
      for (uint64_t &word : magnitude) {
        word = ~word + carries;
        carries = carries && word == 0;
      }
    }
    int top = -1;
    for (size_t i = 0; i < magnitude.size(); ++i)
      if (magnitude[i])
        top = static_cast<int>(64 * i) + 63 - std::countl_zero(magnitude[i]);
    if (top < 0)
      return 0;
    auto bit = [&](int i) { return i >= 0 ? magnitude[size_t(i) / 64] >> (i % 64) & 1 : 0; };
    uint64_t digits = 0;
    for (int i = top; i > top - 53; --i)
      digits = digits << 1 | bit(i);
    bool isInexact = false;
    for (int i = top - 53; i >= 0 && !isInexact; --i)
      isInexact = bit(i) != 0;
    const double result =
        std::ldexp(static_cast<double>(digits | (isInexact ? 1 : 0)), top - 52 - lowest);
    return isNegative ? -result : result;
  }

private:
  static constexpr int lowest = 384;
  std::array<uint64_t, 12> words{};
};
} // namespace

double TileProduct::exactSum(unsigned octet, unsigned element, double start) const {
  const unsigned lane = element % 32;
  const unsigned row = lane / 4 + 8 * (element / 64);
  const unsigned column = 8 * octet + 2 * (lane % 4) + element / 32 % 2;
  FixedPoint sum;
  double plain = start;
  for (unsigned l = 0; l < k; ++l)
    plain += a(row, l) * b(l, column);
  if (!std::isfinite(plain))
    return plain;
  sum.add(start);
  for (unsigned l = 0; l < k; ++l)
    sum.add(a(row, l) * b(l, column));
  return sum.toDouble();
}

void TileProduct::sums(unsigned octet, const double *start, double *results) {
  if (isFast) {
    alignas(64) float products[128];
    float *const registers[4] = {products, products + 32, products + 64, products + 96};
    kernels.accumulateFast(floatsOf(aPanel.get()), fastB + size_t(octet) * 8 * k, k, 1, false,
                           registers);
    for (unsigned i = 0; i < 128; ++i)
      results[i] = start[i] + double(products[i]);
    return;
  }
  const double *panel = bPanels.get() + size_t(octet) * 8 * k;
  alignas(64) double high[128];
  if (isExact(octet)) {
    kernels.multiply(aPanel.get(), panel, k, high);
    kernels.roundToOdd(high, start, results);
    return;
  }
  alignas(64) double low[128];
  uint32_t doubtful[4];
  std::copy_n(start, 128, high);
  kernels.multiplyCarefully(aPanel.get(), panel, k, high, low, doubtful);
  for (unsigned r = 0; r < 4; ++r)
    for (uint32_t rest = doubtful[r]; rest != 0; rest &= rest - 1) {
      const unsigned element = 32 * r + static_cast<unsigned>(std::countr_zero(rest));
      high[element] = exactSum(octet, element, start[element]);
      low[element] = 0;
    }
  kernels.roundToOdd(high, low, results);
}

void TileProduct::accumulate(float *const *registers, bool adds) {
  if (isFast) {
    kernels.accumulateFast(floatsOf(aPanel.get()), fastB, k, n / 8, adds, registers);
    return;
  }
  for (unsigned octet = 0; octet < n / 8; ++octet, registers += 4) {
    if (isExact(octet)) {
      kernels.accumulate(aPanel.get(), bPanels.get() + size_t(octet) * 8 * k, k, adds, registers);
      continue;
    }
    alignas(64) double start[128] = {}, results[128];
    if (adds)
      for (unsigned i = 0; i < 128; ++i)
        start[i] = registers[i / 32][i % 32];
    sums(octet, start, results);
    for (unsigned i = 0; i < 128; ++i) {
      const auto rounded = static_cast<float>(results[i]);
      registers[i / 32][i % 32] = rounded == rounded ? rounded : std::bit_cast<float>(0x7fffffffu);
    }
  }
}

TileProduct &threadProduct() {
  static thread_local TileProduct product;
  return product;
}

} // namespace tilewright::vgpu::machine
