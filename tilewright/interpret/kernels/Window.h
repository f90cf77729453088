// Windows that slide over a tensor: reduce_window, select_and_scatter, convolution.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H
#define TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// One dimension of a window.
struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t baseDilation = 1;        // distance of neighbouring elements of the input
  int64_t windowDilation = 1;      // distance of neighbouring elements of the window
  int64_t padLow = 0, padHigh = 0; // negative padding cuts off
};

/// An element of the window that lies on an element of the input, rather than
/// on padding or between dilated elements.
struct Tap {
  int64_t window, input;
};

/// How many positions a window has on a dimension of `inputSize`.
///  - interpretShape: a size, stride or dilation is not positive, or sizes overflow.
Result<int64_t> windowPositions(std::string_view op, int64_t inputSize,
                                const WindowDimension &window);

/// Replaces `taps` by those of position `position`, in ascending order. A window
/// in several dimensions has the product of its dimensions' taps.
void tapsAt(int64_t position, int64_t inputSize, const WindowDimension &window,
            std::vector<Tap> &taps);

/// Visits all positions of a window in row-major order with their taps.
///
///   for (WindowWalk walk(window, shape, counts); !walk.done(); walk.next())
///     walk.forEachInput([&](int64_t offset) { … return Status(); });
class WindowWalk {
public:
  WindowWalk(std::span<const WindowDimension> window, const Shape &input,
             std::span<const int64_t> positions);

  bool done() const { return finished; }
  void next();
  std::span<const int64_t> position() const { return current; }

  /// Calls `visit` with the offset of every input element under the window, in
  /// row-major order, until it fails.
  template <typename Visit> Status forEachInput(Visit &&visit) {
    for (const std::vector<Tap> &list : taps)
      if (list.empty())
        return Status();
    std::fill(choice.begin(), choice.end(), 0);
    int64_t offset = 0;
    for (size_t dim = 0; dim < taps.size(); ++dim)
      offset += taps[dim][0].input * strides[dim];
    while (true) {
      TILEWRIGHT_TRY(visit(offset));
      size_t dim = taps.size();
      while (dim > 0) {
        const std::vector<Tap> &list = taps[--dim];
        size_t &at = choice[dim];
        offset -= list[at].input * strides[dim];
        at = at + 1 < list.size() ? at + 1 : 0;
        offset += list[at].input * strides[dim];
        if (at != 0)
          break;
        if (dim == 0)
          return Status();
      }
      if (taps.empty())
        return Status();
    }
  }

private:
  std::vector<WindowDimension> window;
  Dims sizes, strides, counts, current;
  std::vector<std::vector<Tap>> taps;
  std::vector<size_t> choice;
  bool finished = false;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_WINDOW_H
