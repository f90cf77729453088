#include "tilewright/runtime/cpu/library/movement/TransposeTile.h"

#include "tilewright/runtime/cpu/library/movement/CopyRows.h"

#include <utility>

namespace tilewright::runtime::cpu {

/// Interleaves the first half, or the second half, of a and b: a0 b0 a1 b1 …
template <typename V, int... i>
TILEWRIGHT_INLINE V zipLow(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int count = sizeof...(i);
  return __builtin_shufflevector(a, b, (i % 2 == 0 ? i / 2 : count + i / 2)...);
}
template <typename V, int... i>
TILEWRIGHT_INLINE V zipHigh(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int count = sizeof...(i);
  return __builtin_shufflevector(a, b,
                                 (i % 2 == 0 ? count / 2 + i / 2 : count + count / 2 + i / 2)...);
}

/// Transposes one square of `count` by `count`. Zipping row i with row i + count/2, log2(count)
/// times, is a transposition: each step rotates the bits of an element's index.
template <typename Cell, int count, bool streams>
TILEWRIGHT_INLINE void square(const std::byte *from, int64_t fromStride, std::byte *to,
                              int64_t toStride) {
  using V = Vector<Cell, count>;
  constexpr auto places = std::make_integer_sequence<int, count>();
  V rows[count];
#pragma clang loop unroll(full)
  for (int i = 0; i < count; ++i)
    rows[i] = loadVector<V>(from + i * fromStride);
#pragma clang loop unroll(full)
  for (int step = 1; step < count; step *= 2) {
    V next[count];
#pragma clang loop unroll(full)
    for (int i = 0; i < count / 2; ++i) {
      next[2 * i] = zipLow(rows[i], rows[i + count / 2], places);
      next[2 * i + 1] = zipHigh(rows[i], rows[i + count / 2], places);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i)
      rows[i] = next[i];
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < count; ++i) {
    if constexpr (streams)
      __builtin_nontemporal_store(rows[i], reinterpret_cast<V *>(to + i * toStride));
    else
      storeVector(to + i * toStride, rows[i]);
  }
}

template <typename Cell, int count, bool streams>
TILEWRIGHT_INLINE void tile(const std::byte *from, int64_t fromStride, std::byte *to,
                            int64_t toStride, int64_t rows, int64_t columns) {
  constexpr int64_t cell = sizeof(Cell);
  int64_t i = 0;
  for (; i + count <= rows; i += count) {
    int64_t j = 0;
    for (; j + count <= columns; j += count)
      square<Cell, count, streams>(from + j * fromStride + i * cell, fromStride,
                                   to + i * toStride + j * cell, toStride);
    for (; j < columns; ++j)
      for (int64_t k = i; k < i + count; ++k)
        std::memcpy(to + k * toStride + j * cell, from + j * fromStride + k * cell, cell);
  }
  for (; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(to + i * toStride + j * cell, from + j * fromStride + i * cell, cell);
}

void transposeTile(const std::byte *from, int64_t fromStride, std::byte *to, int64_t toStride,
                   int64_t rows, int64_t columns, int64_t cell, bool streams) {
  withVectors([&](auto width) TILEWRIGHT_LAMBDA {
    constexpr int bytes = decltype(width)::value;
    // Zip elements of one and two bytes within 16 bytes, which every machine does in one
    // instruction; use the whole register for wider elements.
    switch (cell) {
    case 1:
      return tile<uint8_t, 16, false>(from, fromStride, to, toStride, rows, columns);
    case 2:
      return tile<uint16_t, 8, false>(from, fromStride, to, toStride, rows, columns);
    case 4:
      if (streams)
        return tile<uint32_t, bytes / 4, true>(from, fromStride, to, toStride, rows, columns);
      return tile<uint32_t, bytes / 4, false>(from, fromStride, to, toStride, rows, columns);
    case 8:
      if (streams)
        return tile<uint64_t, bytes / 8, true>(from, fromStride, to, toStride, rows, columns);
      return tile<uint64_t, bytes / 8, false>(from, fromStride, to, toStride, rows, columns);
    default:
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          std::memcpy(to + i * toStride + j * 16, from + j * fromStride + i * 16, 16);
    }
  });
}

} // namespace tilewright::runtime::cpu
