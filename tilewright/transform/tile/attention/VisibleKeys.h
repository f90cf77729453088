// VisibleKeys: which keys the mask of attention may show to a block of queries.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H

#include "mlir/IR/Builders.h"

#include <functional>
#include <optional>

namespace tilewright::tile {

/// Keys from `first` to before `end`, of type index. They may be outside of the keys that exist.
struct KeyRange {
  mlir::Value first, end;
};

/// The queries from `first` to `last`, of type index.
struct QueryRange {
  mlir::Value first, last;
};

/// The mask of attention: a value of type i1 in the body of its op. Two adjacent arguments of the
/// body are the numbers of the query and of the key.
struct Mask {
  mlir::Value visible;
  unsigned query = 0; // the number of the first of these arguments
  int64_t keyCount = 0;
};

/// Returns an input of the op's body as a scalar, of type index, if it is the same for all queries
/// and keys of a head; otherwise null.
using UniformInput = std::function<mlir::Value(unsigned argument)>;

/// Whether a key's number counts within a part of the keys, to which the body adds the number of
/// the part's first key (fuse-split-keys).
bool isInPart(mlir::BlockArgument key);

/// A range that contains all keys that the mask shows to one of the queries, as scalar ops; nullopt
/// if the mask bounds none. A mask is a combination of comparisons of the numbers of key and query,
/// or with a uniform input: causal masks, windows, and lengths of sequences.
std::optional<KeyRange> visibleKeys(mlir::OpBuilder &builder, const Mask &mask, QueryRange queries,
                                    const UniformInput &uniform);

/// A range of keys all of which the mask shows to all of the queries; nullopt if there is none that
/// can be derived.
std::optional<KeyRange> fullyVisibleKeys(mlir::OpBuilder &builder, const Mask &mask,
                                         QueryRange queries, const UniformInput &uniform);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_VISIBLEKEYS_H
