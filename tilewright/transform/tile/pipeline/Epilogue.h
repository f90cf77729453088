// Epilogue: what stands behind a product, in layouts that follow from the accumulator's.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::pipeline {

/// Gives each tile behind the product a layout: maps have that of their operands, a view's source
/// what the view needs of it, a reduction's result what is left. The accumulator's comes first, so
/// the large tiles stay where they are.
class Epilogue {
public:
  Epilogue(const Product &product, const sm::Layout &accumulator);

  /// Why there are no such layouts, or nothing.
  std::optional<std::string> problem() const { return failure; }

  /// Builds all stores and what they need at the builder's place. `scalars` maps what is no tile.
  void build(mlir::OpBuilder &b, mlir::Value accumulator, mlir::IRMapping &scalars);

private:
  const Product &product;
  llvm::DenseMap<mlir::Value, sm::Layout> layouts;
  std::optional<std::string> failure;
  llvm::DenseMap<mlir::Value, mlir::Value> built;

  void fail(mlir::Operation *op, llvm::StringRef why);
  /// The layout that follows for a value from the accumulator, if it depends on it.
  std::optional<sm::Layout> natural(mlir::Value value);
  /// Gives the value the layout, if it has none yet, and what it needs those that follow.
  void assign(mlir::Value value, const sm::Layout &wanted);
  mlir::Value buildValue(mlir::OpBuilder &b, mlir::Value value, mlir::IRMapping &scalars);
  /// The value in a layout: converted where it has another.
  mlir::Value use(mlir::OpBuilder &b, mlir::Value value, const sm::Layout &wanted,
                  mlir::IRMapping &scalars);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H
