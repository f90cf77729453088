// copyStrided(): elements from one arrangement in memory to another.
#ifndef TILEWRIGHT_RUNTIME_STRIDEDCOPY_H
#define TILEWRIGHT_RUNTIME_STRIDEDCOPY_H

#include "tilewright/support/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime {

/// Copies an n-dimensional array. Strides are in bytes, of any sign; those of
/// the destination must give each element a place of its own. `pool` is used
/// for large ones, if there is one.
void copyStrided(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                 std::span<const int64_t> fromStrides, std::span<const int64_t> dims,
                 size_t elementBytes, ThreadPool *pool = nullptr);

/// memcpy by several threads where that pays.
void copyDense(std::byte *to, const std::byte *from, size_t bytes, ThreadPool *pool = nullptr);

/// Byte strides of a dense array whose dimensions change in the order of
/// `minorToMajor`, fastest first; empty is row-major.
std::vector<int64_t> denseStrides(std::span<const int64_t> dims, size_t elementBytes,
                                  std::span<const int64_t> minorToMajor = {});

/// True if the strides are those of a dense row-major array; dimensions of size 1 may have any.
bool isDense(std::span<const int64_t> strides, std::span<const int64_t> dims, size_t elementBytes);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STRIDEDCOPY_H
