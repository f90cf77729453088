#include "tilewright/runtime/cpu/library/reduce/Window.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime::cpu {

Taps WindowDim::tapsAt(int64_t position) const {
  int64_t at = position * stride - padLow, w = 0;
  if (at < 0) {
    w = (-at + windowDilation - 1) / windowDilation;
    at += w * windowDilation;
  }
  if (baseDilation == 1) {
    if (w >= size || at >= input)
      return {0, 1, 0};
    return {at, windowDilation, std::min(size - 1 - w, (input - 1 - at) / windowDilation) + 1};
  }
  // Every `period`-th element of the window falls on an element of the input.
  const int64_t period = baseDilation / std::gcd(baseDilation, windowDilation);
  for (int64_t tries = 0; at % baseDilation != 0; ++tries, ++w, at += windowDilation)
    if (tries == period)
      return {0, 1, 0};
  const int64_t first = at / baseDilation, step = windowDilation * period / baseDilation;
  if (w >= size || first >= input)
    return {0, 1, 0};
  return {first, step, std::min((size - 1 - w) / period, (input - 1 - first) / step) + 1};
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
  if (dim.size < 0 || dim.stride < 1 || dim.baseDilation < 1 || dim.windowDilation < 1 ||
      dim.stride > largest || std::abs(dim.padLow) > largest || std::abs(dim.padHigh) > largest)
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
