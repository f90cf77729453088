#include "tilewright/interpret/kernels/Window.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::interpret {

/// (size - 1) * dilation + 1, or 0 for size 0; nullopt on overflow.
static std::optional<int64_t> dilated(int64_t size, int64_t dilation) {
  int64_t extent;
  if (size == 0)
    return 0;
  if (__builtin_mul_overflow(size - 1, dilation, &extent) ||
      __builtin_add_overflow(extent, 1, &extent))
    return std::nullopt;
  return extent;
}

Result<int64_t> windowPositions(std::string_view op, int64_t inputSize,
                                const WindowDimension &window) {
  if (window.size < 0 || window.stride < 1 || window.baseDilation < 1 || window.windowDilation < 1)
    return Status(Error::interpretShape,
                  concat(op,
                         ": window strides and dilations must be positive, and sizes must not be "
                         "negative, got size ",
                         window.size, ", stride ", window.stride, ", base dilation ",
                         window.baseDilation, ", window dilation ", window.windowDilation));
  // Sizes stay below 2^62, so that positions can be computed without overflow checks.
  constexpr int64_t largest = int64_t(1) << 62;
  const std::optional<int64_t> base = dilated(inputSize, window.baseDilation);
  const std::optional<int64_t> extent = dilated(window.size, window.windowDilation);
  int64_t padded = 0;
  if (!base || !extent || *base > largest || *extent > largest ||
      __builtin_add_overflow(*base, window.padLow, &padded) ||
      __builtin_add_overflow(padded, window.padHigh, &padded) || padded > largest ||
      window.padLow > largest || window.padLow < -largest)
    return Status(Error::interpretShape,
                  concat(op, ": a window of size ", window.size, ", dilation ",
                         window.windowDilation, " over size ", inputSize, ", dilation ",
                         window.baseDilation, ", padding ", window.padLow, " and ", window.padHigh,
                         " does not fit in 62 bits"));
  if (padded <= 0 || *extent > padded)
    return int64_t(0);
  return (padded - *extent) / window.stride + 1;
}

void tapsAt(int64_t position, int64_t inputSize, const WindowDimension &window,
            std::vector<Tap> &taps) {
  taps.clear();
  int64_t at = position * window.stride - window.padLow;
  for (int64_t w = 0; w < window.size; ++w, at += window.windowDilation) {
    if (at < 0 || at % window.baseDilation != 0)
      continue;
    const int64_t input = at / window.baseDilation;
    if (input >= inputSize)
      break;
    taps.push_back({window.reversed ? window.size - 1 - w : w, input});
  }
}

WindowWalk::WindowWalk(std::span<const WindowDimension> window, const Shape &input,
                       std::span<const int64_t> positions)
    : window(window.begin(), window.end()), sizes(input.dims().begin(), input.dims().end()),
      strides(input.strides()), windowStrides(positions.size(), 1),
      counts(positions.begin(), positions.end()), current(positions.size(), 0),
      taps(positions.size()), choice(positions.size(), 0) {
  for (size_t dim = counts.size(); dim-- > 0;) {
    // A window whose size overflows int64 has no position, so its strides are not used.
    if (dim + 1 < counts.size())
      windowStrides[dim] = saturatingProduct({windowStrides[dim + 1], window[dim + 1].size});
    finished |= counts[dim] == 0;
    tapsAt(0, sizes[dim], window[dim], taps[dim]);
  }
}

void WindowWalk::next() {
  for (size_t dim = counts.size(); dim-- > 0;) {
    const bool wraps = ++current[dim] == counts[dim];
    if (wraps)
      current[dim] = 0;
    tapsAt(current[dim], sizes[dim], window[dim], taps[dim]);
    if (!wraps)
      return;
  }
  finished = true;
}

} // namespace tilewright::interpret
