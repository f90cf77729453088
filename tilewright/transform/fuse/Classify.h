// What an op is to fusion. This is the predicate that transform/tile must agree
// with: what is fusible here can be tiled there.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H
#define TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tilewright::fuse {

enum class OpClass {
  /// The element at an index from the elements at that index.
  elementwise,
  /// Rows folded away.
  reduce,
  /// Elements from elsewhere: transpose, pad, concatenate, reverse, broadcast, slice, iota.
  movement,
  /// The same memory under another shape.
  reshape,
  /// A constant that is one number.
  splat,
  /// All else: the library's, control flow, constants in memory.
  other,
};

OpClass classify(mlir::Operation *op);

/// Elementwise ops that take many instructions, so they are never computed twice.
bool isExpensive(mlir::Operation *op);

/// Ops that cost next to nothing wherever their result is read, so each reader
/// may have its own: broadcast, iota, slice, convert, dynamic_slice.
bool isCheap(mlir::Operation *op);

/// The operands of a fusible op that must be computed before the kernel starts: positions
/// of a dynamic_slice, initial values of a reduction, the value of padding.
bool isParameter(mlir::OpOperand &operand);

/// Whether an op must keep its place among others of its kind. Fusions never do, nor do
/// composites that are kept: they stand for functions.
bool hasEffects(mlir::Operation *op);

/// Elements of the largest result.
int64_t elementsOf(mlir::Type type);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_CLASSIFY_H
