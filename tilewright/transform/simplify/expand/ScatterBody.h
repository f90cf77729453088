// ScatterBody: how the body of a scatter combines an element with its updates.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_SCATTERBODY_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_SCATTERBODY_H

#include "tilewright/transform/simplify/expand/TensorBuilder.h"

#include <optional>

namespace tilewright::simplify {

/// A body whose updates can be combined with each other before they are combined with an element.
/// For each operand it has an associative op, applied to the element and to a number that depends
/// only on the updates.
class ScatterBody {
public:
  /// nullopt if the body of a scatter of `operands` tensors does not have this form.
  static std::optional<ScatterBody> of(mlir::Region &body, size_t operands);

  /// The numbers to combine, computed from updates of one shape.
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
