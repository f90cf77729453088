#include "tilewright/runtime/copy/StridedCopy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright::runtime {

/// Below this size, one thread is as fast as several: waking them takes as long as the copy.
constexpr size_t parallelBytes = size_t(1) << 20;
/// The side of the square tiles in which arrays are transposed, in elements. The cache lines that a
/// tile touches in both arrays fit in L1.
constexpr int64_t tileSide = 32;

namespace {
struct Dim {
  int64_t size, to, from; // strides in bytes
};
using Dims = std::vector<Dim>;

template <size_t bytes> struct Element {
  std::byte data[bytes];
};

/// Copies a plane: `outer` × `inner` elements.
template <size_t bytes>
void copyPlane(std::byte *to, const std::byte *from, const Dim &outer, const Dim &inner) {
  using Item = Element<bytes>;
  for (int64_t i0 = 0; i0 < outer.size; i0 += tileSide)
    for (int64_t j0 = 0; j0 < inner.size; j0 += tileSide) {
      const int64_t iEnd = std::min(i0 + tileSide, outer.size);
      const int64_t jEnd = std::min(j0 + tileSide, inner.size);
      for (int64_t i = i0; i < iEnd; ++i) {
        std::byte *t = to + i * outer.to + j0 * inner.to;
        const std::byte *f = from + i * outer.from + j0 * inner.from;
        for (int64_t j = j0; j < jEnd; ++j, t += inner.to, f += inner.from)
          std::memcpy(t, f, sizeof(Item));
      }
    }
}

void copyRows(std::byte *to, const std::byte *from, const Dim &rows, size_t rowBytes) {
  for (int64_t i = 0; i < rows.size; ++i)
    std::memcpy(to + i * rows.to, from + i * rows.from, rowBytes);
}

void copyPlane(std::byte *to, const std::byte *from, const Dim &outer, const Dim &inner,
               size_t elementBytes) {
  const auto step = static_cast<int64_t>(elementBytes);
  if (inner.to == step && inner.from == step)
    return copyRows(to, from, outer, static_cast<size_t>(inner.size) * elementBytes);
  switch (elementBytes) {
  case 1:
    return copyPlane<1>(to, from, outer, inner);
  case 2:
    return copyPlane<2>(to, from, outer, inner);
  case 4:
    return copyPlane<4>(to, from, outer, inner);
  case 8:
    return copyPlane<8>(to, from, outer, inner);
  default:
    return copyPlane<16>(to, from, outer, inner);
  }
}

/// Drops and merges dimensions without changing the copy; the destination's fastest dimension comes
/// last.
Dims simplified(std::span<const int64_t> toStrides, std::span<const int64_t> fromStrides,
                std::span<const int64_t> sizes) {
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1)
      dims.push_back({sizes[i], toStrides[i], fromStrides[i]});
  std::sort(dims.begin(), dims.end(),
            [](const Dim &a, const Dim &b) { return std::abs(a.to) > std::abs(b.to); });
  Dims merged;
  for (const Dim &dim : dims) {
    if (!merged.empty() && merged.back().to == dim.to * dim.size &&
        merged.back().from == dim.from * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.to, dim.from};
    else
      merged.push_back(dim);
  }
  return merged;
}
} // namespace

void copyDense(std::byte *to, const std::byte *from, size_t bytes, ThreadPool *pool) {
  if (bytes == 0)
    return;
  if (!pool || bytes < parallelBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  pool->parallelFor(static_cast<int64_t>(bytes), parallelBytes / 2,
                    [&](int64_t begin, int64_t end) {
                      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
                    });
}

void copyStrided(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                 std::span<const int64_t> fromStrides, std::span<const int64_t> sizes,
                 size_t elementBytes, ThreadPool *pool) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return;
  Dims dims = simplified(toStrides, fromStrides, sizes);
  const auto step = static_cast<int64_t>(elementBytes);
  if (dims.empty() || (dims.size() == 1 && dims[0].to == step && dims[0].from == step))
    return copyDense(to, from, elementBytes * static_cast<size_t>(dims.empty() ? 1 : dims[0].size),
                     pool);
  if (dims.size() == 1)
    dims.insert(dims.begin(), {1, 0, 0});

  // Copy planes of two dimensions: the fastest in the destination, and of the rest the fastest in
  // the source.
  Dim inner = dims.back();
  dims.pop_back();
  auto fastest = dims.end() - 1;
  if (inner.from != step)
    for (auto dim = dims.begin(); dim != dims.end(); ++dim)
      if (std::abs(dim->from) < std::abs(fastest->from))
        fastest = dim;
  Dim outer = *fastest;
  dims.erase(fastest);

  // A work item is a band of tileSide rows of a plane.
  int64_t planes = 1;
  for (const Dim &dim : dims)
    planes *= dim.size;
  const int64_t bands = (outer.size + tileSide - 1) / tileSide;
  auto work = [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      std::byte *t = to;
      const std::byte *f = from;
      int64_t rest = item / bands;
      for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        t += rest % dim->size * dim->to;
        f += rest % dim->size * dim->from;
        rest /= dim->size;
      }
      const int64_t first = item % bands * tileSide;
      const Dim band = {std::min(tileSide, outer.size - first), outer.to, outer.from};
      copyPlane(t + first * outer.to, f + first * outer.from, band, inner, elementBytes);
    }
  };
  const int64_t items = planes * bands;
  const int64_t bytes = planes * outer.size * inner.size * step;
  if (!pool || static_cast<size_t>(bytes) < parallelBytes)
    work(0, items);
  else
    pool->parallelFor(items, std::max<int64_t>(1, items * int64_t(parallelBytes / 2) / bytes),
                      work);
}

std::vector<int64_t> denseStrides(std::span<const int64_t> dims, size_t elementBytes,
                                  std::span<const int64_t> minorToMajor) {
  std::vector<int64_t> strides(dims.size());
  auto stride = static_cast<int64_t>(elementBytes);
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t dim =
        minorToMajor.empty() ? dims.size() - 1 - i : static_cast<size_t>(minorToMajor[i]);
    strides[dim] = stride;
    stride *= std::max<int64_t>(dims[dim], 1);
  }
  return strides;
}

bool isDense(std::span<const int64_t> strides, std::span<const int64_t> dims, size_t elementBytes) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end())
    return true;
  auto stride = static_cast<int64_t>(elementBytes);
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != stride)
      return false;
    stride *= dims[i];
  }
  return true;
}

} // namespace tilewright::runtime
