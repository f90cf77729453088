// Sorts integers by partitioning in vector registers.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_VECTORSORT_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_VECTORSORT_H

#include "tilewright/support/ThreadPool.h"

#include <cstdint>

namespace tilewright::runtime::cpu {

/// Whether this machine has the instructions (AVX-512 compress).
bool canSortVectors();

/// Sorts ascending, in place. Equal values are indistinguishable, so stability does not matter. If
/// `pool` is given, its threads share long sequences.
void sortVectors(uint32_t *values, int64_t count, ThreadPool *pool);
void sortVectors(uint64_t *values, int64_t count, ThreadPool *pool);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_SORT_VECTORSORT_H
