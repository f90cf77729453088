// Transposes a matrix in memory through registers.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime::cpu {

/// The side of a block, in elements; the source and target of a block fit in L1.
constexpr int64_t transposeBlock = 64;

/// to[i * toStride + j * cell] = from[j * fromStride + i * cell] for i below `rows` (contiguous in
/// the source) and j below `columns` (contiguous in the target). Strides are in bytes; `cell` is 1,
/// 2, 4, 8 or 16. With `streams`, uses non-temporal stores for whole vectors.
void transposeTile(const std::byte *from, int64_t fromStride, std::byte *to, int64_t toStride,
                   int64_t rows, int64_t columns, int64_t cell, bool streams);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_TRANSPOSETILE_H
