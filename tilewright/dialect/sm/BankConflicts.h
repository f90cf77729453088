// Bank conflicts of shared memory: counting, a closed form, and the search for conflict-free
// swizzles.
#ifndef TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H
#define TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::sm {

/// An access in which each thread moves its registers to or from shared memory, `vector` registers
/// at a time.
struct SharedAccess {
  Layout threads;
  int64_t vector = 1;
};

/// The number of rounds that the slowest part of an access takes; 1 means no conflicts. Each lane
/// moves `bytes` bytes (1 to 16) at its address in `addresses`. Memory has 32 banks of 4 bytes and
/// broadcasts a word to any number of lanes; accesses of 8 and 16 bytes are split into half and
/// quarter warps.
int64_t conflictDegree(llvm::ArrayRef<int64_t> addresses, int64_t bytes);

/// The maximum conflict degree of the accesses that move a tile between registers and memory. If
/// both layouts are linear over bits, uses the closed form 2^(rank of the words − rank of their
/// banks); otherwise counts.
int64_t conflictDegree(const SharedAccess &access, const Layout &memory, int64_t elementBytes);

/// The largest number of consecutive registers that are consecutive in memory and aligned, up to 16
/// bytes.
int64_t sharedVector(const Layout &threads, const Layout &memory, int64_t elementBytes);

/// Adds flips to the memory layout such that every access has degree 1. nullopt if no such swizzle
/// exists, the search exceeds its step limit, or a layout is not linear over bits. The flips leave
/// the offset bits within the longest vector unchanged.
std::optional<Layout> swizzleFor(const Layout &memory, llvm::ArrayRef<SharedAccess> accesses,
                                 int64_t elementBytes);

/// Whether the layout is linear over bits: every size and stride is a power of two, without
/// padding.
bool isLinear(const Layout &layout);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H
