// ChooseWindows: which windows of a block make it faster.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_CHOOSEWINDOWS_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_CHOOSEWINDOWS_H

#include "tilewright/transform/communicate/window/Window.h"

#include <vector>

namespace tilewright::communicate {

/// A window and the decision about it.
struct WindowChoice {
  Window window;
  bool isTaken = false;
  std::string reason;
};

/// Finds the windows of the block's collectives, such that no op is in two windows, and decides
/// which to emit. Considers windows that save time on their own. Windows of equal shapes are
/// emitted together or not at all: in each step, the shape that saves most is added if the
/// predicted time of the block falls by at least a tenth of the time of these collectives. Calls
/// `missed` for a collective beside a product that cannot have a window.
std::vector<WindowChoice>
chooseWindows(mlir::Block &block, const TensorCost &cost,
              llvm::function_ref<void(mlir::Operation *, llvm::StringRef)> missed);

/// All windows of the block, regardless of cost.
std::vector<WindowChoice> allWindows(mlir::Block &block, const TensorCost &cost);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_CHOOSEWINDOWS_H
