// Transposing a matrix that lies in memory, through registers.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime::cpu {

/// One block of work: both sides of it fit in the first cache.
constexpr int64_t transposeBlock = 64;

/// to[i * toStride + j * cell] = from[j * fromStride + i * cell] for i below
/// `rows`, the neighbours in the source, and j below `columns`, those in the
/// target. Strides are in bytes; `cell` is 1, 2, 4, 8 or 16. `streams` writes past
/// the cache where whole vectors are written.
void transposeTile(const std::byte *from, int64_t fromStride, std::byte *to, int64_t toStride,
                   int64_t rows, int64_t columns, int64_t cell, bool streams);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H
