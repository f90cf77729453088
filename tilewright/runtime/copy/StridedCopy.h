// copyStrided(): copies elements from one layout to another.
#ifndef TILEWRIGHT_RUNTIME_COPY_STRIDEDCOPY_H
#define TILEWRIGHT_RUNTIME_COPY_STRIDEDCOPY_H

#include "tilewright/support/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime {

/// Copies an n-dimensional array. Strides are in bytes and may be negative; no two elements of the
/// destination may overlap. Uses `pool` for large arrays, if it is not null.
void copyStrided(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                 std::span<const int64_t> fromStrides, std::span<const int64_t> dims,
                 size_t elementBytes, ThreadPool *pool = nullptr);

/// memcpy with several threads if that is faster.
void copyDense(std::byte *to, const std::byte *from, size_t bytes, ThreadPool *pool = nullptr);

/// Byte strides of a dense array with the layout `minorToMajor`, fastest dimension first; empty
/// means row-major.
std::vector<int64_t> denseStrides(std::span<const int64_t> dims, size_t elementBytes,
                                  std::span<const int64_t> minorToMajor = {});

/// Whether the strides are those of a dense row-major array; dimensions of size 1 may have any
/// stride.
bool isDense(std::span<const int64_t> strides, std::span<const int64_t> dims, size_t elementBytes);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_COPY_STRIDEDCOPY_H
