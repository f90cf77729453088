// Packed arrays of elements of 2, 4 and 6 bits, and the ops that pack and unpack them.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PACKING_H
#define TILEWRIGHT_TRANSFORM_FUSE_PACKING_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::fuse {

/// Whether arrays of this type are packed in memory: static tensors of elements of 2, 4 or 6 bits.
/// An empty array stays as it is.
bool isNarrow(mlir::Type type);

/// The bytes of a packed array: `tensor<8xui8>` for `tensor<3x5xi4>`.
mlir::RankedTensorType packedType(mlir::RankedTensorType type);

/// Emits the ops that pack `value`, a narrow tensor, into bytes (packedType). Emits only
/// elementwise ops and data movement, so that they can be fused with the kernel that computes the
/// value. A byte is one element of the result, so one thread writes it.
mlir::Value emitPack(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// Emits the inverse of emitPack(): a tensor of `type`.
mlir::Value emitUnpack(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bytes,
                       mlir::RankedTensorType type);

/// The packed form of a constant.
mlir::DenseElementsAttr packConstant(mlir::ElementsAttr value);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PACKING_H
