// Sliding windows: reduce_window, select_and_scatter, convolution.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H
#define TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// One dimension of a window.
struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t baseDilation = 1;        // distance of adjacent elements of the input
  int64_t windowDilation = 1;      // distance of adjacent elements of the window
  int64_t padLow = 0, padHigh = 0; // negative padding crops
  bool reversed = false;           // the window's elements are in descending order
};

/// An element of the window that lies on an element of the input, not on padding or between dilated
/// elements.
struct Tap {
  int64_t window, input;
};

/// The number of positions of a window along a dimension of `inputSize` elements.
///  - interpretShape: a size is negative, a stride or dilation is not positive, or sizes overflow.
Result<int64_t> windowPositions(std::string_view op, int64_t inputSize,
                                const WindowDimension &window);

/// Sets `taps` to the taps at position `position`, in ascending order of the input. The taps of a
/// multi-dimensional window are the product of those of its dimensions.
void tapsAt(int64_t position, int64_t inputSize, const WindowDimension &window,
            std::vector<Tap> &taps);

/// Visits all positions of a window in row-major order with their taps.
///
///   for (WindowWalk walk(window, shape, counts); !walk.done(); walk.next())
///     walk.forEachTap([&](int64_t input, int64_t window) { … return Status(); });
class WindowWalk {
public:
  WindowWalk(std::span<const WindowDimension> window, const Shape &input,
             std::span<const int64_t> positions);

  bool done() const { return finished; }
  void next();
  std::span<const int64_t> position() const { return current; }

  /// Calls `visit` for every element under the window, in row-major order, with the element's
  /// offsets in the input and in the window; stops if `visit` fails.
  template <typename Visit> Status forEachTap(Visit &&visit) {
    int64_t input = 0, inWindow = 0;
    for (size_t dim = 0; dim < taps.size(); ++dim) {
      if (taps[dim].empty())
        return Status();
      choice[dim] = 0;
      input += taps[dim][0].input * strides[dim];
      inWindow += taps[dim][0].window * windowStrides[dim];
    }
    while (true) {
      TILEWRIGHT_TRY(visit(input, inWindow));
      bool wrapped = true;
      for (size_t dim = taps.size(); wrapped && dim-- > 0;) {
        const Tap before = taps[dim][choice[dim]];
        wrapped = ++choice[dim] == taps[dim].size();
        choice[dim] = wrapped ? 0 : choice[dim];
        const Tap now = taps[dim][choice[dim]];
        input += (now.input - before.input) * strides[dim];
        inWindow += (now.window - before.window) * windowStrides[dim];
      }
      if (wrapped)
        return Status();
    }
  }

private:
  std::vector<WindowDimension> window;
  Dims sizes, strides, windowStrides, counts, current;
  std::vector<std::vector<Tap>> taps;
  std::vector<size_t> choice;
  bool finished = false;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H
