// VisibleKeys: which keys the mask of attention may show to a block of queries.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H

#include "tilewright/dialect/exec/SoftmaxOps.h"

#include "mlir/IR/Builders.h"

#include <functional>
#include <optional>

namespace tilewright::tile {

/// Keys from `first` to before `end`, of type index. They may be outside of the keys that exist.
struct KeyRange {
  mlir::Value first, end;
};

/// A range that contains all keys that the mask shows to the queries from `firstQuery` to
/// `lastQuery` (of type index), as scalar ops; nullopt if the mask bounds none. A mask is a
/// combination of comparisons of the numbers of key and query, or with an input that `uniform`
/// returns as a scalar: causal masks, windows, and lengths of sequences.
std::optional<KeyRange> visibleKeys(mlir::OpBuilder &builder, exec::SoftmaxDotOp op,
                                    mlir::Value firstQuery, mlir::Value lastQuery,
                                    const std::function<mlir::Value(unsigned operand)> &uniform);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H
