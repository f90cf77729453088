// SortKey: sorts that order elements by one number each.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ROWS_SORTKEY_H
#define TILEWRIGHT_TRANSFORM_TILE_ROWS_SORTKEY_H

#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace tilewright::tile {

/// A comparator that compares the same function of both sides, its key: `f(lhs) < f(rhs)`, or `>`.
/// The key is an integer of 8 to 64 bits or a float of 16 to 64 bits.
class SortKey {
public:
  /// The key of the op's comparator, if it has one.
  static std::optional<SortKey> of(stablehlo::SortOp op);

  /// The number of bits of a key.
  int64_t bits() const;
  /// Whether the key depends on an operand.
  bool reads(unsigned operand);
  /// Emits the bits of a key as an unsigned number whose order is that of the sort: smaller numbers
  /// come first, and equal numbers are equal for the comparator. `operands` has an element of each
  /// operand, or any value for operands that the key does not read. If the comparator does not
  /// order NaNs, their position is arbitrary.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange operands);

private:
  /// Clones the sort with a comparator that returns the key of its left elements.
  mlir::OwningOpRef<stablehlo::SortOp> copy;
  mlir::Type element; // of the key, as in StableHLO
  bool descends = false;
  bool isTotal = false; // orders zeros by sign, and NaNs
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ROWS_SORTKEY_H
