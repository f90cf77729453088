// IndexFacts: what is known of an index of a kernel before it runs.
#ifndef TILEWRIGHT_DIALECT_SM_INDEXFACTS_H
#define TILEWRIGHT_DIALECT_SM_INDEXFACTS_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace tilewright::sm {

/// The largest number that is known to divide an index, as far as powers of two; 0 if it is zero.
int64_t divisorOf(mlir::Value index);

/// The least and the greatest value of an index.
struct IndexRange {
  int64_t least, most;
};

/// From the grid, the constant bounds of loops, and sums and products of these; nothing if that
/// does not say.
std::optional<IndexRange> rangeOf(mlir::Value index);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_INDEXFACTS_H
