// LinearForm: a constant plus a linear combination of dimensions with known ranges.
#ifndef TILEWRIGHT_TRANSFORM_TILE_LINEARFORM_H
#define TILEWRIGHT_TRANSFORM_TILE_LINEARFORM_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilewright::tile {

/// An index expression that is linear for all points of a box [0, sizes).
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t> coefficients; // one for each dimension

  explicit LinearForm(size_t dims) : coefficients(dims, 0) {}

  static LinearForm dim(size_t dims, size_t position) {
    LinearForm form(dims);
    form.coefficients[position] = 1;
    return form;
  }

  LinearForm operator+(const LinearForm &other) const;
  LinearForm operator*(int64_t factor) const;

  /// Quotient and remainder by `divisor` if both are linear on the box; otherwise nullopt. For
  /// example, (8 a + b) / 8 is a, if b is in [0, 8).
  std::optional<std::pair<LinearForm, LinearForm>> divide(int64_t divisor,
                                                          llvm::ArrayRef<int64_t> sizes) const;

  /// Whether all values on the box are in [0, size).
  bool isWithin(int64_t size, llvm::ArrayRef<int64_t> sizes) const;

  mlir::AffineExpr toExpr(mlir::MLIRContext *context) const;
};

/// `expr` with `dims` substituted for its dimensions; nullopt if it is not linear on the box.
std::optional<LinearForm> linearForm(mlir::AffineExpr expr, llvm::ArrayRef<LinearForm> dims,
                                     llvm::ArrayRef<int64_t> sizes);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_LINEARFORM_H
