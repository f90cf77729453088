// IndexForm: an affine expression of loops with known sizes, as a sum of terms.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_INDEXFORM_H
#define TILEWRIGHT_TARGET_CPU_EMIT_INDEXFORM_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

namespace tilewright::cpu {

/// constant + Σ coefficient · loop + Σ factor · (a floordiv or mod that could not be removed).
/// Because 0 ≤ loop d < sizes[d] is known, most floordivs and mods can be removed: (8a + b) mod 8
/// is b if b < 8.
struct IndexForm {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 6> coefficients; // for each loop
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>, 1> rest;

  explicit IndexForm(size_t loops) : coefficients(loops, 0) {}
  static IndexForm of(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> sizes);

  bool isLinear() const { return rest.empty(); }
  /// Whether the form depends on a loop.
  bool dependsOn(unsigned loop) const;
  /// Smallest and largest value.
  std::pair<int64_t, int64_t> range(llvm::ArrayRef<int64_t> sizes) const;
  mlir::AffineExpr toExpr(mlir::MLIRContext *context) const;
  void add(const IndexForm &other, int64_t factor, llvm::ArrayRef<int64_t> sizes);
};

/// `map` with every result simplified by IndexForm.
mlir::AffineMap simplifyMap(mlir::AffineMap map, llvm::ArrayRef<int64_t> sizes);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_INDEXFORM_H
