// Static facts about the indices of a kernel: their divisors and ranges.
#ifndef TILEWRIGHT_DIALECT_SM_INDEXFACTS_H
#define TILEWRIGHT_DIALECT_SM_INDEXFACTS_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace tilewright::sm {

/// The largest power of two, up to 2^20, that is known to divide an index; 0 if the index is zero.
int64_t divisorOf(mlir::Value index);

/// The smallest and the largest value of an index.
struct IndexRange {
  int64_t least, most;
};

/// The range of an index, derived from the grid, loop bounds and constants; nullopt if unknown.
std::optional<IndexRange> rangeOf(mlir::Value index);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_INDEXFACTS_H
