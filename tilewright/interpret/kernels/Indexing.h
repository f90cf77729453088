// Iterates over tensors with incrementally updated offsets, and checks dimension numbers for all
// kernels.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_INDEXING_H
#define TILEWRIGHT_INTERPRET_KERNELS_INDEXING_H

#include "tilewright/interpret/Tensor.h"
#include "tilewright/numerics/Dims.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::interpret {

using numerics::Dims;
using numerics::joined;
using numerics::pick;
using numerics::remaining;

/// Visits every index of a box in row-major order and maintains its offset in each of N arrays,
/// without multiplications.
///
///   for (StridedWalk<2> walk(sizes, {from, to}); !walk.done(); walk.next())
///     out[walk.offset(1)] = in[walk.offset(0)];
template <size_t N> class StridedWalk {
public:
  StridedWalk(std::span<const int64_t> sizes,
              const std::array<std::span<const int64_t>, N> &strides)
      : sizes(sizes.begin(), sizes.end()), position(sizes.size(), 0) {
    for (size_t i = 0; i < N; ++i)
      steps[i].assign(strides[i].begin(), strides[i].end());
    for (int64_t size : sizes)
      finished |= size == 0;
  }

  bool done() const { return finished; }
  int64_t offset(size_t array = 0) const { return offsets[array]; }
  std::span<const int64_t> index() const { return position; }

  void next() {
    for (size_t dim = sizes.size(); dim-- > 0;) {
      if (++position[dim] < sizes[dim]) {
        for (size_t i = 0; i < N; ++i)
          offsets[i] += steps[i][dim];
        return;
      }
      position[dim] = 0;
      for (size_t i = 0; i < N; ++i)
        offsets[i] -= steps[i][dim] * (sizes[dim] - 1);
    }
    finished = true;
  }

private:
  Dims sizes, position;
  std::array<Dims, N> steps;
  std::array<int64_t, N> offsets{};
  bool finished = false;
};

/// The product, saturated at the int64 maximum, which exceeds every step budget. A factor of zero
/// gives zero even if other factors overflow.
int64_t saturatingProduct(std::span<const int64_t> factors);
inline int64_t saturatingProduct(std::initializer_list<int64_t> factors) {
  return saturatingProduct(std::span(factors.begin(), factors.size()));
}

/// - interpretShape: `dims` has a number outside [0, rank) or a duplicate.
Status checkDims(std::string_view op, std::string_view what, std::span<const int64_t> dims,
                 int64_t rank);

/// Scratch memory of one kernel, counted against the budget like tensors.
template <typename T> class Scratch {
public:
  static Result<Scratch> allocate(int64_t count, Context &context) {
    TILEWRIGHT_ASSIGN(std::shared_ptr<std::byte> bytes,
                      context.allocate(saturatingProduct({count, sizeof(T)})));
    return Scratch(std::move(bytes), count);
  }
  T *data() { return reinterpret_cast<T *>(bytes.get()); }
  const T *data() const { return reinterpret_cast<const T *>(bytes.get()); }
  T &operator[](int64_t i) { return data()[i]; }
  void fill(const T &value) { std::fill_n(data(), count, value); }

private:
  Scratch(std::shared_ptr<std::byte> bytes, int64_t count)
      : bytes(std::move(bytes)), count(count) {}
  std::shared_ptr<std::byte> bytes;
  int64_t count;
};

/// Converts the elements; returns the tensor itself if they already have the type.
Result<Tensor> converted(const Tensor &tensor, ElementType type, Context &context);

/// A dense tensor whose element [i0, i1, …] is that of `tensor` at offset i0 * strides[0] + i1 *
/// strides[1] + …: a transpose, a diagonal (strides added up) or a broadcast (stride 0). Returns
/// the tensor itself if that changes nothing.
Result<Tensor> rearranged(const Tensor &tensor, std::span<const int64_t> sizes,
                          std::span<const int64_t> strides, Context &context);

/// The elements of an allocated tensor, as an array of T.
template <typename T> const T *elements(const Tensor &tensor) {
  assert(reinterpret_cast<uintptr_t>(tensor.data()) % alignof(T) == 0);
  return reinterpret_cast<const T *>(tensor.data());
}
template <typename T> T *mutableElements(Tensor &tensor) {
  return reinterpret_cast<T *>(tensor.mutableData());
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_INDEXING_H
