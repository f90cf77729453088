// Rows of whole bytes in a packed array: what an op on rows can read and write without unpacking.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H
#define TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H

#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"

#include <optional>

namespace tilewright::fuse {

/// A packed array seen as rows: the leading dimensions of the array, then the bytes of a row, which
/// holds all elements of the remaining dimensions.
class PackedRows {
public:
  /// The longest rows that the update writes as a whole; nullopt if they are not whole bytes.
  static std::optional<PackedRows> of(stablehlo::DynamicUpdateSliceOp op);

  mlir::RankedTensorType type; // the array as rows of bytes

  /// The bytes of an array as rows, and rows as bytes.
  mlir::Value viewed(mlir::OpBuilder &builder, mlir::Value bytes) const;
  mlir::Value flat(mlir::OpBuilder &builder, mlir::Value rows) const;

  /// The update of `rows` by the bytes of the update.
  mlir::Value update(mlir::OpBuilder &builder, stablehlo::DynamicUpdateSliceOp op, mlir::Value rows,
                     mlir::Value part) const;
};

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H
