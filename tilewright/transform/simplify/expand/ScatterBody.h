// ScatterBody: how the body of a scatter combines an element with its updates.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_SCATTERBODY_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_SCATTERBODY_H

#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include <optional>

namespace tilewright::simplify {

/// A body whose updates can be combined with each other before an element is: for each operand an
/// associative op on the element and on a number that depends only on the updates.
///
///   (a, b) -> a + b * b      becomes the updates b * b and the op `add`
///   (a, b) -> a - b          becomes the updates -b and the op `add`
///   (a, b) -> negate(a)      is not such a body
class ScatterBody {
public:
  /// nullopt if the body of a scatter of `operands` tensors does not have this form.
  static std::optional<ScatterBody> of(mlir::Region &body, size_t operands);

  /// The numbers that are combined, from updates of one shape.
  llvm::SmallVector<mlir::Value> numbersFrom(TensorBuilder &b, mlir::ValueRange updates) const;
  /// Combines earlier numbers, or elements, with later ones.
  llvm::SmallVector<mlir::Value> join(TensorBuilder &b, mlir::ValueRange earlier,
                                      mlir::ValueRange later) const;

  /// Whether the last number replaces the element, for all operands or for some.
  bool replacesAll() const;
  bool replacesSome() const;

private:
  struct Part {
    /// The associative op; nullopt if the number replaces the element.
    std::optional<mlir::OperationName> op;
    mlir::Value number; // in the body
    bool isNegated = false;
  };

  mlir::Region *body = nullptr;
  llvm::SmallVector<Part> parts;
};

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_SCATTERBODY_H
