// A quicksort that partitions a vector at a time, with sorting networks for short sequences.
#include "tilewright/runtime/cpu/library/sort/VectorSort.h"

#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/library/Scratch.h"

#include <algorithm>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>

#define TILEWRIGHT_AVX512                                                                          \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt,lzcnt")))

namespace tilewright::runtime::cpu {

namespace {
template <typename Key> constexpr int lanes = 64 / sizeof(Key);
template <typename Key> using Lanes = Vector<Key, lanes<Key>>;

/// Sequences up to this length are sorted by a network.
constexpr int64_t networkSize = 128;

/// Lane i takes lane i ^ distance.
template <int distance, typename V, int... i>
TILEWRIGHT_AVX512 TILEWRIGHT_INLINE V crossed(V value, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(value, value, (i ^ distance)...);
}
/// The larger of the two in lanes that have `bit` set, the smaller in the others.
template <int bit, typename V, int... i>
TILEWRIGHT_AVX512 TILEWRIGHT_INLINE V ordered(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int count = sizeof...(i);
  const V low = a < b ? a : b, high = a < b ? b : a;
  return __builtin_shufflevector(low, high, ((i & bit) != 0 ? count + i : i)...);
}

/// Compares and exchanges elements `distance` apart within each vector, then half as far apart, and
/// so on.
template <typename Key, int distance, int count>
TILEWRIGHT_AVX512 TILEWRIGHT_INLINE void cleanLanes(Lanes<Key> (&v)[count]) {
  if constexpr (distance > 0) {
    constexpr auto places = std::make_integer_sequence<int, lanes<Key>>();
#pragma clang loop unroll(full)
    for (int a = 0; a < count; ++a)
      v[a] = ordered<distance>(v[a], crossed<distance>(v[a], places), places);
    cleanLanes<Key, distance / 2>(v);
  }
}

/// Merges sorted blocks of `block` / 2 elements into blocks of `block`: the first comparison
/// reverses the second half, so that all comparisons have the same direction.
template <typename Key, int block, int count>
TILEWRIGHT_AVX512 TILEWRIGHT_INLINE void mergeBlocks(Lanes<Key> (&v)[count]) {
  constexpr int width = lanes<Key>;
  constexpr auto places = std::make_integer_sequence<int, width>();
  if constexpr (block <= width) {
#pragma clang loop unroll(full)
    for (int a = 0; a < count; ++a)
      v[a] = ordered<block / 2>(v[a], crossed<block - 1>(v[a], places), places);
    cleanLanes<Key, block / 4>(v);
  } else {
    constexpr int vectors = block / width;
#pragma clang loop unroll(full)
    for (int first = 0; first < count; first += vectors) {
#pragma clang loop unroll(full)
      for (int a = 0; a < vectors / 2; ++a) {
        Lanes<Key> &low = v[first + a], &high = v[first + vectors - 1 - a];
        const Lanes<Key> turned = crossed<width - 1>(high, places);
        high = crossed<width - 1>(low < turned ? turned : low, places);
        low = low < turned ? low : turned;
      }
#pragma clang loop unroll(full)
      for (int distance = vectors / 4; distance > 0; distance /= 2)
#pragma clang loop unroll(full)
        for (int a = 0; a < vectors; ++a)
          if ((a & distance) == 0) {
            Lanes<Key> &low = v[first + a], &high = v[first + a + distance];
            const Lanes<Key> smaller = low < high ? low : high;
            high = low < high ? high : low;
            low = smaller;
          }
    }
    cleanLanes<Key, width / 2>(v);
  }
}

template <typename Key, int block, int count>
TILEWRIGHT_AVX512 TILEWRIGHT_INLINE void sortBlocks(Lanes<Key> (&v)[count]) {
  mergeBlocks<Key, block>(v);
  if constexpr (block < count * lanes<Key>)
    sortBlocks<Key, 2 * block>(v);
}

/// Sorts up to `count` vectors; pads with the largest value.
template <typename Key, int count>
TILEWRIGHT_AVX512 __attribute__((noinline)) void sortNetwork(Key *values, int64_t n) {
  Lanes<Key> v[count];
  alignas(64) Key padded[count * lanes<Key>];
  for (int64_t i = n; i < count * lanes<Key>; ++i)
    padded[i] = ~Key(0);
  std::copy(values, values + n, padded);
#pragma clang loop unroll(full)
  for (int a = 0; a < count; ++a)
    __builtin_memcpy(&v[a], padded + a * lanes<Key>, 64);
  sortBlocks<Key, 2>(v);
#pragma clang loop unroll(full)
  for (int a = 0; a < count; ++a)
    __builtin_memcpy(padded + a * lanes<Key>, &v[a], 64);
  std::copy(padded, padded + n, values);
}

template <typename Key> void sortShort(Key *values, int64_t n) {
  constexpr int whole = int(networkSize) / lanes<Key>;
  if (n < 2)
    return;
  if (n <= networkSize / 4)
    return sortNetwork<Key, whole / 4>(values, n);
  if (n <= networkSize / 2)
    return sortNetwork<Key, whole / 2>(values, n);
  sortNetwork<Key, whole>(values, n);
}

/// Moves values below `pivot` to the front and returns their number. `room` temporarily holds the
/// others; it has space for `n` values and one more vector.
TILEWRIGHT_AVX512 int64_t partition(uint32_t *values, int64_t n, uint32_t pivot, uint32_t *room) {
  const __m512i pivots = _mm512_set1_epi32(static_cast<int>(pivot));
  int64_t below = 0, others = 0, i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i v = _mm512_loadu_si512(values + i);
    const __mmask16 mask = _mm512_cmplt_epu32_mask(v, pivots);
    const int count = __builtin_popcount(mask);
    // Store a whole vector; later stores overwrite its unused part. At `below` it covers only
    // values that have already been read.
    _mm512_storeu_si512(values + below, _mm512_maskz_compress_epi32(mask, v));
    _mm512_storeu_si512(room + others,
                        _mm512_maskz_compress_epi32(static_cast<__mmask16>(~mask), v));
    below += count;
    others += 16 - count;
  }
  for (; i < n; ++i) {
    const uint32_t value = values[i];
    if (value < pivot)
      values[below++] = value;
    else
      room[others++] = value;
  }
  std::memcpy(values + below, room, static_cast<size_t>(others) * sizeof(uint32_t));
  return below;
}
TILEWRIGHT_AVX512 int64_t partition(uint64_t *values, int64_t n, uint64_t pivot, uint64_t *room) {
  const __m512i pivots = _mm512_set1_epi64(static_cast<long long>(pivot));
  int64_t below = 0, others = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512i v = _mm512_loadu_si512(values + i);
    const __mmask8 mask = _mm512_cmplt_epu64_mask(v, pivots);
    const int count = __builtin_popcount(mask);
    _mm512_storeu_si512(values + below, _mm512_maskz_compress_epi64(mask, v));
    _mm512_storeu_si512(room + others,
                        _mm512_maskz_compress_epi64(static_cast<__mmask8>(~mask), v));
    below += count;
    others += 8 - count;
  }
  for (; i < n; ++i) {
    const uint64_t value = values[i];
    if (value < pivot)
      values[below++] = value;
    else
      room[others++] = value;
  }
  std::memcpy(values + below, room, static_cast<size_t>(others) * sizeof(uint64_t));
  return below;
}

/// The median of a sample of the values.
template <typename Key> Key pivotOf(const Key *values, int64_t n) {
  constexpr int64_t count = 32;
  Key sample[count];
  for (int64_t i = 0; i < count; ++i)
    sample[i] = values[n / count * i + i * 7 % (n / count)];
  sortShort(sample, count);
  return sample[count / 2];
}

/// A range to sort, and how many bad splits are left before it is sorted by std::sort.
struct Stretch {
  int64_t begin, end;
  int patience;
};

/// Splits a range in two around a pivot. If the pivot is the smallest value, the elements equal to
/// it are already in place and belong to neither part.
template <typename Key>
std::pair<Stretch, Stretch> cut(Key *values, const Stretch &stretch, Key *room) {
  const int64_t n = stretch.end - stretch.begin;
  Key *const from = values + stretch.begin;
  const Key pivot = pivotOf(from, n);
  int64_t below = partition(from, n, pivot, room);
  int64_t done = 0;
  if (below == 0) { // the pivot is the smallest value: move its equals to the front
    done = pivot == ~Key(0) ? n : partition(from, n, pivot + 1, room);
    below = done;
  }
  const bool isBad = below < n / 16 || below > n - n / 16;
  const int patience = stretch.patience - isBad;
  return {{stretch.begin + done, stretch.begin + below, patience},
          {stretch.begin + below, stretch.end, patience}};
}

template <typename Key> void sortStretch(Key *values, Stretch stretch, Key *room) {
  for (;;) {
    const int64_t n = stretch.end - stretch.begin;
    if (n <= networkSize)
      return sortShort(values + stretch.begin, n);
    if (stretch.patience <= 0) { // adversarial input: too many bad splits
      std::sort(values + stretch.begin, values + stretch.end);
      return;
    }
    auto [first, second] = cut(values, stretch, room);
    if (first.end - first.begin > second.end - second.begin)
      std::swap(first, second);
    sortStretch(values, first, room);
    stretch = second;
  }
}

template <typename Key> void sortAll(Key *values, int64_t n, ThreadPool *pool) {
  constexpr int patience = 24;
  const auto bytes = static_cast<int64_t>(sizeof(Key));
  std::vector<Stretch> stretches = {{0, n, patience}};
  const Scratch memory((n + 64) * bytes);
  Key *const room = memory.as<Key>();
  if (pool && pool->threadCount() > 1 && n >= 1 << 16) {
    // Split until there are enough ranges for all threads; each range has its own part of the
    // scratch.
    const size_t wanted = 4 * pool->threadCount();
    while (stretches.size() < wanted) {
      const auto longest = std::max_element(
          stretches.begin(), stretches.end(),
          [](const Stretch &a, const Stretch &b) { return a.end - a.begin < b.end - b.begin; });
      if (longest->end - longest->begin < 1 << 13 || longest->patience <= 0)
        break;
      auto [first, second] = cut(values, *longest, room);
      *longest = first;
      stretches.push_back(second);
    }
    pool->parallelFor(static_cast<int64_t>(stretches.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Stretch &each = stretches[static_cast<size_t>(i)];
        const Scratch own((each.end - each.begin + 64) * bytes);
        sortStretch(values, each, own.as<Key>());
      }
    });
    return;
  }
  sortStretch(values, stretches[0], room);
}
} // namespace

bool canSortVectors() { return isaOfMachine() == Isa::avx512; }
void sortVectors(uint32_t *values, int64_t count, ThreadPool *pool) {
  sortAll(values, count, pool);
}
void sortVectors(uint64_t *values, int64_t count, ThreadPool *pool) {
  sortAll(values, count, pool);
}

} // namespace tilewright::runtime::cpu

#else

namespace tilewright::runtime::cpu {
bool canSortVectors() { return false; }
void sortVectors(uint32_t *, int64_t, ThreadPool *) {}
void sortVectors(uint64_t *, int64_t, ThreadPool *) {}
} // namespace tilewright::runtime::cpu

#endif
