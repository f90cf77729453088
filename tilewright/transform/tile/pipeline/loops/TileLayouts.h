// TileLayouts: the layouts of the tiles in a role's registers, derived from the accumulators of its
// products.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TILELAYOUTS_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TILELAYOUTS_H

#include "tilewright/transform/tile/pipeline/loops/ProductLoop.h"

namespace tilewright::pipeline {

/// Each op relates the layouts of its operands and results: those of maps, loops and branches have
/// the same layout, a reduction removes dimensions, and the result of a view determines its source.
/// The accumulators, and the left operands that instructions read from registers, therefore
/// determine all other layouts, and no tile is converted.
class TileLayouts {
public:
  TileLayouts(ProductLoop &products, int64_t groups);

  /// Explains why no such layouts exist; nullopt if they do.
  std::optional<std::string> problem() const { return failure; }
  /// The layout of a tile in registers.
  sm::Layout of(mlir::Value tile) const { return layouts.find(tile)->second; }
  /// The layout of a tile of which every thread of `warps` warps has a copy.
  static sm::Layout replicated(int64_t rank, int64_t warps);

private:
  ProductLoop &products;
  llvm::DenseMap<mlir::Value, sm::Layout> layouts;
  llvm::SmallVector<mlir::Value> open;
  std::optional<std::string> failure;

  void give(mlir::Value value, const sm::Layout &layout);
  void relate(mlir::Value value);
  void settle();
  bool isInRegisters(mlir::Value value);
};

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_LOOPS_TILELAYOUTS_H
