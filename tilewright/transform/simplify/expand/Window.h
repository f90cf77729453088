// Sliding windows over tensors of static shape, for reduce_window and select_and_scatter.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_WINDOW_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_WINDOW_H

#include "tilewright/transform/simplify/expand/TensorBuilder.h"

namespace tilewright::simplify {

/// The maximum number of taps (elements of a window) that become straight-line code: about as many
/// as one kernel can hold. Longer windows take several steps or a loop.
constexpr int64_t maxTaps = 64;

/// One dimension of a window, of the tensor under it, and of the result.
struct WindowAxis {
  int64_t size = 1, stride = 1, baseDilation = 1, windowDilation = 1, low = 0, high = 0;
  int64_t input = 1;     // elements of the tensor
  int64_t positions = 1; // positions of the window

  /// The position of tap `tap` of position 0, in elements of the dilated tensor without its
  /// padding.
  int64_t offsetOf(int64_t tap) const { return tap * windowDilation - low; }
  /// The number of elements of the dilated tensor, without padding.
  int64_t extent() const { return input == 0 ? 0 : (input - 1) * baseDilation + 1; }
  /// The number of elements of the dilated and padded tensor.
  int64_t padded() const { return extent() + low + high; }
  /// Whether no tap of any position is in the padding or between dilated elements.
  bool isCovered() const { return low <= 0 && high <= 0 && (baseDilation == 1 || input <= 1); }
  /// Whether the result is the tensor as it is.
  bool isTrivial() const {
    return size == 1 && stride == 1 && isCovered() && low == 0 && high == 0;
  }
};

using Window = llvm::SmallVector<WindowAxis>;

/// The window of an op with the given attributes; absent attributes are ones, padding zeros.
Window windowOf(llvm::ArrayRef<int64_t> sizes, std::optional<llvm::ArrayRef<int64_t>> strides,
                std::optional<llvm::ArrayRef<int64_t>> baseDilations,
                std::optional<llvm::ArrayRef<int64_t>> windowDilations,
                std::optional<mlir::DenseIntElementsAttr> padding, llvm::ArrayRef<int64_t> input,
                llvm::ArrayRef<int64_t> positions);

/// The number of elements of a window; saturates.
int64_t tapsOf(llvm::ArrayRef<WindowAxis> window);

/// The tensor, dilated and padded with a scalar, so that each tap is a slice of it.
mlir::Value padded(TensorBuilder &b, mlir::Value value, mlir::Value padding,
                   llvm::ArrayRef<WindowAxis> window);

/// Of a padded tensor, the elements under one tap, one for each position of the window.
mlir::Value elementsUnder(TensorBuilder &b, mlir::Value padded, llvm::ArrayRef<WindowAxis> window,
                          llvm::ArrayRef<int64_t> tap);

/// The result positions for which a tap of the window is on an element of the tensor, not on
/// padding.
struct Presence {
  enum Kind { never, sometimes, always } kind = always;
  /// For `sometimes`: the positions, in the shape of the result.
  mlir::Value mask;
};
Presence presenceOf(TensorBuilder &b, llvm::ArrayRef<WindowAxis> window,
                    llvm::ArrayRef<int64_t> tap);

/// For the elements at the given indices (a tensor of i32; index 0 is the first after the padding
/// `low`): whether they are elements of the tensor, in a dilated and padded dimension.
mlir::Value isElement(TensorBuilder &b, const WindowAxis &axis, mlir::Value indices);

/// Calls `visit` with every tap in row-major order.
void forEachTap(llvm::ArrayRef<WindowAxis> window,
                llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_WINDOW_H
