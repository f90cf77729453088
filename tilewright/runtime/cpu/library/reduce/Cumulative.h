// Cumulative operations (scans) along a dimension.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CUMULATIVE_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CUMULATIVE_H

#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

namespace tilewright::runtime::cpu {

/// Elements as [outer][size][inner]; the scan runs along the middle.
struct CumulativeGeometry {
  int64_t outer, size, inner;
  bool reversed;
};

/// to[o][i][c] = op(init, from[o][0][c] … from[o][i][c]), or from the other end if reversed, in one
/// pass over memory. `init` is a stored element, or null for none.
void cumulate(const RowArithmetic &rows, const CumulativeGeometry &geometry, const std::byte *from,
              const std::byte *init, std::byte *to, ThreadPool &pool);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CUMULATIVE_H
