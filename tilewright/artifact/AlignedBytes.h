// AlignedBytes: a byte vector with the alignment that kernels require.
#ifndef TILEWRIGHT_ARTIFACT_ALIGNEDBYTES_H
#define TILEWRIGHT_ARTIFACT_ALIGNEDBYTES_H

#include <cstddef>
#include <new>
#include <vector>

namespace tilewright::artifact {

/// The alignment, in bytes, of every allocation and every slice.
inline constexpr size_t bufferAlignment = 64;

template <typename T> struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U> AlignedAllocator(const AlignedAllocator<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), std::align_val_t(bufferAlignment)));
  }
  void deallocate(T *data, size_t) { ::operator delete(data, std::align_val_t(bufferAlignment)); }
  template <typename U> bool operator==(const AlignedAllocator<U> &) const { return true; }
};

/// A byte vector whose data() can be passed to a kernel, so kernels use constants in place, without
/// another copy.
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_ALIGNEDBYTES_H
