// Rows of whole bytes in a packed array, which an op that moves rows can read and write without
// unpacking.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H
#define TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H

#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"

#include <optional>

namespace tilewright::fuse {

/// A packed array as rows of bytes: the first `leading` dimensions of the array, then the bytes of
/// all elements of the others. nullopt if these are not whole bytes.
std::optional<mlir::RankedTensorType> rowsOf(mlir::RankedTensorType array, int64_t leading);

/// The number of leading dimensions for which the update writes whole rows; nullopt if the rows are
/// not whole bytes.
std::optional<int64_t> rowsOf(stablehlo::DynamicUpdateSliceOp op);
/// Like the function above, for the operand of a gather of whole rows.
std::optional<int64_t> rowsOf(stablehlo::GatherOp op);
/// Like the function above, for each operand and result of a collective that only moves elements.
std::optional<int64_t> rowsOfCollective(mlir::Operation *op);

/// Updates `array` with `part`, both given as rows of bytes, at the place where `op` updates the
/// elements.
mlir::Value updateRows(mlir::OpBuilder &builder, stablehlo::DynamicUpdateSliceOp op,
                       mlir::Value array, mlir::Value part);
/// Gathers rows from `array`, which is given as rows of bytes.
mlir::Value gatherRows(mlir::OpBuilder &builder, stablehlo::GatherOp op, mlir::Value array);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PACKEDROWS_H
