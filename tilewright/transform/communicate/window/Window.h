// Window: a collective that is divided into pieces, and the products that run while the pieces are
// sent.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_WINDOW_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_WINDOW_H

#include "tilewright/transform/communicate/window/Parts.h"
#include "tilewright/transform/communicate/window/Ring.h"
#include "tilewright/transform/communicate/window/TensorCost.h"

#include <string>

namespace tilewright::communicate {

/// A product with a gathered operand.
struct GatheredProduct {
  stablehlo::DotGeneralOp dot;
  bool isLhs = false; // the side of the gathered value
  ProductRole role;
};

struct Window {
  enum class Form : uint8_t {
    gather,  // all_gather, then products: each piece is multiplied when it has arrived
    scatter, // products, then reduce_scatter: the sum of a piece travels from rank to rank
    reduce,  // products, then all_reduce, of one piece after the other
  };
  Form form = Form::gather;
  mlir::Operation *collective = nullptr;
  int64_t dim = 0;                                // of the whole tensor
  int64_t pieces = 0, length = 0;                 // length of a piece along `dim`
  std::optional<Ring> ring;                       // of gather and scatter
  llvm::SmallVector<GatheredProduct, 2> products; // of gather
  bool hasOtherUses = false;                      // of the gathered value
  std::optional<PartwiseValue> computed;          // of scatter and reduce

  llvm::SmallVector<stablehlo::DotGeneralOp, 2> dots() const;
};

/// Whether sums of this type would lose bits between pieces: every float of fewer than 32 bits.
/// Partial sums of them are f32.
bool isNarrowFloat(mlir::Type type);

/// The times of a window's steps, in nanoseconds.
struct WindowTimes {
  double whole = 0;                     // of the collective that it replaces
  double message = 0;                   // of one permute, or of the all_reduce of a piece
  std::vector<double> products, pieces; // of each product, and of a piece of it
  double movement = 0;                  // slices and updates for one piece
};
WindowTimes timesOf(const Window &window, const TensorCost &cost);

/// The time that a window saves if no other op hides the collective; and the overhead that would
/// remain if communication took no time: launches, copies and less efficient products.
struct WindowGain {
  double saved = 0, overhead = 0;
};
WindowGain gainOf(const WindowTimes &times, int64_t pieces, Window::Form form,
                  const transform::Prices &prices);

/// Finds the window of a collective. nullopt if there is none, with a reason if a product is beside
/// the collective.
std::optional<Window> findWindow(mlir::Operation *collective, const TensorCost &cost,
                                 std::string &reason);

/// Rewrites the collective and its products.
void emit(const Window &window);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_WINDOW_H
