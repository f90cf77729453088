// Epilogue: the ops after a matmul, in layouts that are derived from the accumulator's layout.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/pipeline/FindProduct.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::pipeline {

/// Assigns a layout to each tile of the epilogue: a map's operands have its result's layout, a
/// view's source has the layout that the view requires, and a reduction's result has the layout of
/// the remaining dimensions. Starts from the accumulator, so that the large tiles are not
/// converted.
class Epilogue {
public:
  Epilogue(const Product &product, const sm::Layout &accumulator);

  /// Explains why no such layouts exist; nullopt if they do.
  std::optional<std::string> problem() const { return failure; }

  /// The store whose tile can be staged in shared memory; null if there is none, or if the layout
  /// of its tile differs from the accumulator's.
  tile::StoreOp staged() const { return stagedStore; }

  /// Builds all stores and their operands at the insertion point. `scalars` maps all values that
  /// are not tiles. If `channel` is not null, the tile of the staged store goes through it.
  void build(mlir::OpBuilder &b, mlir::Value accumulator, mlir::IRMapping &scalars,
             mlir::Value channel = {});

private:
  const Product &product;
  llvm::DenseMap<mlir::Value, sm::Layout> layouts;
  std::optional<std::string> failure;
  tile::StoreOp stagedStore;
  llvm::DenseMap<mlir::Value, mlir::Value> built;

  void fail(mlir::Operation *op, llvm::StringRef why);
  /// The layout of a value that follows from the accumulator's layout; nullopt if the value does
  /// not depend on the accumulator.
  std::optional<sm::Layout> natural(mlir::Value value);
  /// Assigns the layout to the value, unless it already has one, and the resulting layouts to its
  /// operands.
  void assign(mlir::Value value, const sm::Layout &wanted);
  mlir::Value buildValue(mlir::OpBuilder &b, mlir::Value value, mlir::IRMapping &scalars);
  /// The value in layout `wanted`, converted if it has another layout.
  mlir::Value use(mlir::OpBuilder &b, mlir::Value value, const sm::Layout &wanted,
                  mlir::IRMapping &scalars);
};

/// The layout for a direct store of an accumulator's layout. Four lanes hold a row of the
/// accumulator, two columns each. With 16-bit elements that is half a sector (16 bytes). Exchanging
/// the columns of two instructions among the four lanes gives each lane four adjacent columns, so
/// that the row fills a sector.
sm::Layout storeLayout(const sm::Layout &layout, mlir::RankedTensorType type);

/// The store of the kernel whose tile the copy engine can write to memory; null if there is none,
/// with the reason. `reason` stays empty if no store has 16-bit elements.
tile::StoreOp findStoreToStage(const Product &product, std::string &reason);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_EPILOGUE_H
