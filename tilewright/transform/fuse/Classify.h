// Classifies ops for fusion. transform/tile must be able to tile every op that is fusible here.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H
#define TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tilewright::fuse {

enum class OpClass {
  /// Computes each element from the operands' elements at the same index.
  elementwise,
  /// Reduces rows.
  reduce,
  /// Moves elements: transpose, pad, concatenate, reverse, broadcast, slice, iota.
  movement,
  /// Views the same memory with another shape.
  reshape,
  /// A splat constant.
  splat,
  /// Reads elements of a table at computed indices. Only Groups decides where it may be fused.
  gather,
  /// Everything else: library calls, control flow, constants in memory.
  other,
};

OpClass classify(mlir::Operation *op);

inline mlir::Block &bodyOf(exec::FusionOp fusion) { return fusion.getBody().front(); }

/// Whether an op takes so many instructions that a kernel should not compute it at several places,
/// nor a product for each of its tiles.
bool isExpensive(mlir::Operation *op);

/// Whether an op is so cheap to recompute that each reader may have its own copy: broadcast, iota,
/// slice, convert, reshape, dynamic_slice, splat constant.
bool isCheap(mlir::Operation *op);

/// Whether a kernel of a CPU can gather these elements and compute with them: they are contiguous
/// along the last dimension, or each has an index of its own.
bool canFuseGather(mlir::Operation *op);

/// Whether a gather reads one index and one element for each element of its result, in the same
/// order.
bool isPointwiseGather(stablehlo::GatherOp op);

/// Whether an operand of a fusible op must be computed before the kernel starts: the start indices
/// of a dynamic_slice, the initial values of a reduction, the padding value, the table of a gather.
bool isParameter(mlir::OpOperand &operand);

/// Whether an op must keep its order relative to other ops with effects. Fusions and composites
/// never do, because they are pure.
bool hasEffects(mlir::Operation *op);

/// Whether matrix instructions may multiply the f32 operands of a matmul as tf32: its precision is
/// the default, and the chip has such instructions.
bool canMultiplyAsTf32(stablehlo::DotGeneralOp dot, exec::MatrixAttr matrix);

/// The number of elements of a tensor type.
int64_t elementsOf(mlir::Type type);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H
