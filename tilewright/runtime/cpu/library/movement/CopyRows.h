// The innermost loops of a copy.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYROWS_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYROWS_H

#include "tilewright/runtime/cpu/library/Isa.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tilewright::runtime::cpu {

/// Results of at least this size do not fit in the cache, so they are written with non-temporal
/// stores, which do not read the target first.
constexpr int64_t streamingBytes = int64_t(32) << 20;

/// The type with which elements of 16 bytes are copied.
struct Cell16 {
  uint64_t low, high;
};

/// Calls body.template operator()<Cell>() for elements of `bytes`, one of 1, 2, 4, 8, 16.
template <typename Body> decltype(auto) withCell(int64_t bytes, Body &&body) {
  switch (bytes) {
  case 1:
    return body.template operator()<uint8_t>();
  case 2:
    return body.template operator()<uint16_t>();
  case 4:
    return body.template operator()<uint32_t>();
  case 8:
    return body.template operator()<uint64_t>();
  default:
    return body.template operator()<Cell16>();
  }
}

/// memcpy, inlined for short rows, where a call would cost more than the copy.
TILEWRIGHT_INLINE void copyRow(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes > 64 || bytes < 8) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  // Two pieces of `size` bytes that may overlap cover every length from `size` to 2 * `size`.
  auto pieces = [&]<int size>() TILEWRIGHT_LAMBDA {
    struct Piece {
      std::byte content[size];
    };
    Piece first, last;
    std::memcpy(&first, from, size);
    std::memcpy(&last, from + bytes - size, size);
    std::memcpy(to, &first, size);
    std::memcpy(to + bytes - size, &last, size);
  };
  if (bytes >= 32)
    pieces.operator()<32>();
  else if (bytes >= 16)
    pieces.operator()<16>();
  else
    pieces.operator()<8>();
}

/// Copies a long row with non-temporal stores.
inline void streamRow(std::byte *to, const std::byte *from, int64_t bytes) {
  withVectors([&](auto width) TILEWRIGHT_LAMBDA {
    constexpr int64_t step = decltype(width)::value;
    using V = Vector<uint8_t, step>;
    // Stores must be whole aligned vectors; the bytes before and after are copied normally.
    const int64_t head =
        std::min<int64_t>(bytes, (step - static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) %
                                                              static_cast<uintptr_t>(step))) %
                                     step);
    std::memcpy(to, from, static_cast<size_t>(head));
    int64_t at = head;
    for (; at + step <= bytes; at += step)
      __builtin_nontemporal_store(loadVector<V>(from + at), reinterpret_cast<V *>(to + at));
    std::memcpy(to + at, from + at, static_cast<size_t>(bytes - at));
  });
}

/// Makes non-temporal stores visible before a waiting thread is notified.
inline void finishStreaming() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// Writes `count` copies of the element at `value`.
template <typename Cell> void fillCells(std::byte *to, const std::byte *value, int64_t count) {
  Cell cell;
  std::memcpy(&cell, value, sizeof(Cell));
  auto *cells = reinterpret_cast<Cell *>(to);
  std::fill(cells, cells + count, cell);
}
inline void fillElements(std::byte *to, const std::byte *value, int64_t bytes, int64_t count) {
  withCell(bytes, [&]<typename Cell>() { fillCells<Cell>(to, value, count); });
}

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYROWS_H
