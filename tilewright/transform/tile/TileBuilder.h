// TileBuilder: ops on tiles for kernels that are built directly, not from a FusionGraph.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TILEBUILDER_H
#define TILEWRIGHT_TRANSFORM_TILE_TILEBUILDER_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/TypeOf.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tile {

class TileBuilder {
protected:
  using Value = mlir::Value;

  TileBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  Value times(Value coordinate, int64_t factor) {
    return mlir::affine::AffineApplyOp::create(builder, loc, dim(0) * factor,
                                               mlir::ValueRange(coordinate));
  }
  mlir::AffineExpr dim(unsigned position) { return builder.getAffineDimExpr(position); }

  /// Loads a tile at multiples of its sizes; elements outside of memory are zero.
  Value load(Value from, llvm::ArrayRef<Value> offsets, llvm::ArrayRef<int64_t> shape);
  Value view(Value from, llvm::ArrayRef<mlir::AffineExpr> exprs, llvm::ArrayRef<int64_t> shape);
  /// Stores a tile at multiples of its sizes; elements outside of memory are dropped.
  void store(Value tile, Value target, llvm::ArrayRef<Value> offsets);
  /// Computes a tile element by element; without operands, a splat.
  Value map(mlir::ValueRange tiles, mlir::Type element, llvm::ArrayRef<int64_t> shape,
            llvm::function_ref<Value(mlir::OpBuilder &, mlir::ValueRange)> body);
  Value splat(float value, llvm::ArrayRef<int64_t> shape);

  /// Creates the kernel's block, with a coordinate for each dimension of the grid and memory for
  /// each tensor, and moves the builder to its end.
  void openKernel(KernelOp kernel, mlir::ValueRange inputs, mlir::ValueRange outputs);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  /// The condition under which the elements of a tile are in memory; null if they always are.
  mlir::DenseBoolArrayAttr inBounds(Value memory, llvm::ArrayRef<int64_t> shape);
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TILEBUILDER_H
