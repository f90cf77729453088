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

/// The windows of the block's collectives, no op in two of them. Windows of equal shapes are taken
/// or left together: those that save time by themselves are added one kind after the other, as long
/// as the predicted time of the block falls by a tenth of the time of their collectives.
/// `missed` is called for a collective beside a product that cannot have a window.
std::vector<WindowChoice>
chooseWindows(mlir::Block &block, const TensorCost &cost,
              llvm::function_ref<void(mlir::Operation *, llvm::StringRef)> missed);

/// All windows of the block, whatever they cost.
std::vector<WindowChoice> allWindows(mlir::Block &block, const TensorCost &cost);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_CHOOSEWINDOWS_H
