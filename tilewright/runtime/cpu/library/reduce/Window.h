// Sliding windows over a tensor.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_WINDOW_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_WINDOW_H

#include "tilewright/runtime/cpu/library/CallReader.h"

#include <utility>

namespace tilewright::runtime::cpu {

/// The input elements of one dimension under a window: `count` elements from `first`. Padding and
/// the holes of a dilated input are not included.
struct Taps {
  int64_t first, step, count;
};

struct WindowDim {
  int64_t size = 1, stride = 1;
  int64_t baseDilation = 1;   // distance between adjacent input elements
  int64_t windowDilation = 1; // distance between adjacent window elements
  int64_t padLow = 0, padHigh = 0;
  int64_t input = 1;     // size of the input
  int64_t positions = 1; // of the window

  /// Whether position i covers exactly input element i.
  bool isTrivial() const {
    return size == 1 && stride == 1 && baseDilation == 1 && padLow == 0 && padHigh == 0;
  }
  /// Whether position i covers all elements up to i.
  bool isCumulative() const {
    return stride == 1 && baseDilation == 1 && windowDilation == 1 && size >= input && input > 1 &&
           padLow == size - 1 && padHigh == 0;
  }
  bool isReverseCumulative() const {
    return stride == 1 && baseDilation == 1 && windowDilation == 1 && size >= input && input > 1 &&
           padHigh == size - 1 && padLow == 0;
  }
  Taps tapsAt(int64_t position) const;
  /// The positions [first, second) at which the whole window is inside the input; none if the
  /// input is dilated.
  std::pair<int64_t, int64_t> wholePositions() const;
};

/// The window of a call.
///  - libraryCall: it does not match the input.
Result<std::vector<WindowDim>> windowOf(const CallReader &reader,
                                        const artifact::ReduceWindowCall &call, const Shape &input);

/// The number of positions in each dimension.
Dims positionsOf(std::span<const WindowDim> window);

/// The number of leading dimensions in which the window is trivial, so that their positions are
/// independent.
int64_t batchRank(std::span<const WindowDim> window);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_WINDOW_H
