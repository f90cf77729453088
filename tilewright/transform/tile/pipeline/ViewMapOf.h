// viewMapOf: which element of its source each element of a view is.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_VIEWMAPOF_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_VIEWMAPOF_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"

namespace tilewright::pipeline {

inline std::optional<sm::ViewMap> viewMapOf(tile::ViewOp view) {
  return sm::viewMapOf(view.getMap(), view.getType().getShape(),
                       mlir::cast<mlir::RankedTensorType>(view.getSource().getType()).getShape());
}

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_VIEWMAPOF_H
