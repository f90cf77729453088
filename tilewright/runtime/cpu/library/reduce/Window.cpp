#include "tilewright/runtime/cpu/library/reduce/Window.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilewright::runtime::cpu {

/// The smallest w >= 0 for which `at + w * step` is a multiple of `modulus`, if step and modulus
/// are coprime.
static int64_t firstMultiple(int64_t at, int64_t step, int64_t modulus) {
  // Euclid's algorithm finds the inverse of `step`: inverse * step = rest (mod modulus).
  int64_t rest = step % modulus, inverse = 1, nextRest = modulus, nextInverse = 0;
  while (rest > 1) {
    const int64_t quotient = nextRest / rest;
    nextRest = std::exchange(rest, nextRest - quotient * rest);
    nextInverse = std::exchange(inverse, nextInverse - quotient * inverse);
  }
  const auto missing = static_cast<unsigned __int128>((modulus - at % modulus) % modulus);
  if (inverse < 0)
    inverse += modulus;
  return static_cast<int64_t>(missing * static_cast<uint64_t>(inverse) %
                              static_cast<uint64_t>(modulus));
}

// findPositions has bounded all sizes by 2^62, so that no sum here overflows.
Taps WindowDim::tapsAt(int64_t position) const {
  constexpr Taps none = {0, 1, 0};
  if (size == 0)
    return none;
  int64_t at = position * stride - padLow, w = 0;
  if (at < 0) {
    w = (-at + windowDilation - 1) / windowDilation;
    at += w * windowDilation;
  }
  // Every `period`-th element of the window falls on an element of the input.
  int64_t period = 1, step = windowDilation;
  if (baseDilation != 1) {
    const int64_t common = std::gcd(baseDilation, windowDilation);
    if (at % common != 0)
      return none;
    period = baseDilation / common;
    step = windowDilation / common;
    const int64_t skipped = firstMultiple(at / common, step, period);
    if (skipped >= size - w)
      return none;
    w += skipped;
    at = (at + skipped * windowDilation) / baseDilation;
  }
  if (w >= size || at >= input)
    return none;
  const int64_t count = std::min((size - 1 - w) / period, (input - 1 - at) / step) + 1;
  // A step that is never taken may be so large that multiplying it overflows.
  return {at, count > 1 ? step : 1, count};
}

std::pair<int64_t, int64_t> WindowDim::wholePositions() const {
  const int64_t lastStart = input - 1 - (size - 1) * windowDilation + padLow;
  if (baseDilation != 1 || size == 0 || lastStart < 0)
    return {0, 0};
  const int64_t begin = std::max<int64_t>(0, (padLow + stride - 1) / stride);
  const int64_t end = std::min(positions, lastStart / stride + 1);
  return begin < end ? std::pair(begin, end) : std::pair<int64_t, int64_t>(0, 0);
}

/// (size - 1) * dilation + 1, or 0 for size 0; -1 if that is beyond 2^62.
static int64_t dilated(int64_t size, int64_t dilation) {
  int64_t extent;
  if (size == 0)
    return 0;
  if (__builtin_mul_overflow(size - 1, dilation, &extent) || extent >= int64_t(1) << 62)
    return -1;
  return extent + 1;
}

/// - libraryCall: sizes are not positive where they must be, or exceed 2^62.
static Status findPositions(const CallReader &reader, WindowDim &dim) {
  constexpr int64_t largest = int64_t(1) << 62;
  // Nothing is at a distance from a single element. So the test of the extents bounds dilations.
  if (dim.input <= 1 && dim.baseDilation > 1)
    dim.baseDilation = 1;
  if (dim.size <= 1 && dim.windowDilation > 1)
    dim.windowDilation = 1;
  if (dim.size < 0 || dim.stride < 1 || dim.baseDilation < 1 || dim.windowDilation < 1 ||
      dim.stride > largest || dim.size > largest || dim.padLow > largest || dim.padLow < -largest ||
      dim.padHigh > largest || dim.padHigh < -largest)
    return reader.failure("window strides and dilations must be positive, sizes must not be "
                          "negative, and all must be at most 2^62");
  const int64_t base = dilated(dim.input, dim.baseDilation);
  const int64_t extent = dilated(dim.size, dim.windowDilation);
  int64_t padded = 0;
  if (base < 0 || extent < 0 || __builtin_add_overflow(base, dim.padLow, &padded) ||
      __builtin_add_overflow(padded, dim.padHigh, &padded) || padded > largest)
    return reader.failure("a window of size ", dim.size, " over size ", dim.input,
                          " does not fit in 62 bits");
  dim.positions = padded <= 0 || extent > padded ? 0 : (padded - extent) / dim.stride + 1;
  return Status();
}

Result<std::vector<WindowDim>>
windowOf(const CallReader &reader, const artifact::ReduceWindowCall &call, const Shape &input) {
  const auto rank = static_cast<size_t>(input.rank());
  const Dims &sizes = call.windowDimensions, &strides = call.windowStrides,
             &base = call.baseDilations, &dilations = call.windowDilations, &padding = call.padding;
  if (sizes.size() != rank || strides.size() != rank || base.size() != rank ||
      dilations.size() != rank || padding.size() != 2 * rank)
    return reader.failure("the window must have the input's rank, ", rank);
  std::vector<WindowDim> window(rank);
  for (size_t i = 0; i < rank; ++i) {
    window[i] = {sizes[i],
                 strides[i],
                 base[i],
                 dilations[i],
                 padding[2 * i],
                 padding[2 * i + 1],
                 input[static_cast<int64_t>(i)],
                 0};
    TILEWRIGHT_TRY(findPositions(reader, window[i]));
  }
  return window;
}

Dims positionsOf(std::span<const WindowDim> window) {
  Dims positions;
  for (const WindowDim &dim : window)
    positions.push_back(dim.positions);
  return positions;
}

int64_t batchRank(std::span<const WindowDim> window) {
  int64_t rank = 0;
  while (rank < static_cast<int64_t>(window.size()) &&
         window[static_cast<size_t>(rank)].isTrivial())
    ++rank;
  return rank;
}

} // namespace tilewright::runtime::cpu
