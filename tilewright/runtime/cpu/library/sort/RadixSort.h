// Radix sort of integers.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_RADIXSORT_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_RADIXSORT_H

#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/sort/VectorSort.h"
#include "tilewright/support/ThreadPool.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tilewright::runtime::cpu {

/// A 64-bit key and its original position.
struct WidePair {
  uint64_t key, place;
};

namespace detail {
template <typename T> uint64_t keyOf(T value) { return value; }
inline uint64_t keyOf(WidePair value) { return value.key; }

/// Converts the count of each digit to the position at which its elements begin. Returns false if
/// all elements have the same digit, so that this pass can be skipped.
inline bool beginsOf(uint32_t *counts, int64_t digits, int64_t n) {
  uint32_t sum = 0;
  for (int64_t digit = 0; digit < digits; ++digit) {
    const uint32_t count = counts[digit];
    if (count == n)
      return false;
    counts[digit] = sum;
    sum += count;
  }
  return true;
}
} // namespace detail

/// Sorts `n` values, fewer than 2^32, by bits [lowBit, highBit) of their keys. Stable: values with
/// equal bits keep their order. The result is in `data`; `other` has room for as many values, and
/// the two pointers may be swapped. If `pool` is given, its threads share the work; the result is
/// the same.
template <typename T>
void radixSort(T *&data, T *&other, int64_t n, int lowBit, int highBit,
               ThreadPool *pool = nullptr) {
  constexpr int digitBits = 8;
  constexpr int64_t digits = 1 << digitBits;
  constexpr int maxPasses = 8;
  const int passes = (highBit - lowBit + digitBits - 1) / digitBits;
  auto digitOf = [=](T value, int pass) {
    return static_cast<size_t>(detail::keyOf(value) >> (lowBit + pass * digitBits)) & (digits - 1);
  };
  const int64_t chunks = pool && n >= 1 << 17 ? pool->threadCount() : 1;
  if (chunks == 1) {
    uint32_t counts[maxPasses][digits] = {};
    for (int64_t i = 0; i < n; ++i)
      for (int pass = 0; pass < passes; ++pass)
        ++counts[pass][digitOf(data[i], pass)];
    for (int pass = 0; pass < passes; ++pass) {
      if (!detail::beginsOf(counts[pass], digits, n))
        continue;
      uint32_t *next = counts[pass];
      for (int64_t i = 0; i < n; ++i)
        other[next[digitOf(data[i], pass)]++] = data[i];
      std::swap(data, other);
    }
    return;
  }
  const Scratch counts(chunks * digits * 4);
  auto *table = counts.as<uint32_t>();
  for (int pass = 0; pass < passes; ++pass) {
    std::fill(table, table + chunks * digits, 0);
    pool->parallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk)
        for (int64_t i = n * chunk / chunks; i < n * (chunk + 1) / chunks; ++i)
          ++table[chunk * digits + static_cast<int64_t>(digitOf(data[i], pass))];
    });
    // For each digit, the elements of chunk 0 come first, then those of chunk 1, and so on.
    uint32_t sum = 0;
    bool isSame = false;
    for (int64_t digit = 0; digit < digits; ++digit) {
      const uint32_t before = sum;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const uint32_t count = table[chunk * digits + digit];
        table[chunk * digits + digit] = sum;
        sum += count;
      }
      isSame |= sum - before == n;
    }
    if (isSame)
      continue;
    pool->parallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        uint32_t *next = table + chunk * digits;
        for (int64_t i = n * chunk / chunks; i < n * (chunk + 1) / chunks; ++i)
          other[next[digitOf(data[i], pass)]++] = data[i];
      }
    });
    std::swap(data, other);
  }
}

/// Like radixSort(), but chooses the fastest sort for the length. Values with equal keys must be
/// equal, or have their position in the low bits, in ascending order.
template <typename T>
void sortValues(T *&data, T *&other, int64_t n, int lowBit, int highBit,
                ThreadPool *pool = nullptr) {
  // sortVectors() compares whole values, which is equivalent because of the requirement on equal
  // keys. For keys of a single byte, radix sort is faster.
  if constexpr (!std::is_same_v<T, WidePair>)
    if (canSortVectors() && highBit - lowBit > 8)
      return sortVectors(data, n, pool);
  if (n > 192)
    return radixSort(data, other, n, lowBit, highBit, pool);
  if constexpr (std::is_same_v<T, WidePair>)
    std::sort(data, data + n, [](const WidePair &a, const WidePair &b) {
      return a.key != b.key ? a.key < b.key : a.place < b.place;
    });
  else
    std::sort(data, data + n);
}

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_RADIXSORT_H
