// The dimensions of a matmul's operand that are also dimensions of the result, but no batches.
#ifndef TILEWRIGHT_TRANSFORM_FREEDIMS_H
#define TILEWRIGHT_TRANSFORM_FREEDIMS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tilewright {

/// The dimensions of an operand that are neither batching nor contracting, in order.
inline llvm::SmallVector<int64_t> freeDims(int64_t rank, llvm::ArrayRef<int64_t> batching,
                                           llvm::ArrayRef<int64_t> contracting) {
  llvm::SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim))
      dims.push_back(dim);
  return dims;
}

} // namespace tilewright

#endif // TILEWRIGHT_TRANSFORM_FREEDIMS_H
