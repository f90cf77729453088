// Bank conflicts of shared memory: counted, in closed form, and swizzled away.
#ifndef TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H
#define TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H

#include "tilewright/dialect/sm/Layout.h"

namespace tilewright::sm {

/// Registers that a warp moves to or from shared memory, `vector` of them at once.
struct SharedAccess {
  Layout threads;
  int64_t vector = 1;
};

/// How many rounds the slowest part of an access takes, where 1 is free of conflicts: lanes at
/// `addresses` (bytes) move `bytes` (1 to 16) each. Memory has 32 banks of 4 bytes and gives a word
/// to any number of lanes; accesses of 8 and 16 bytes are made by half and quarter warps. Counted.
int64_t conflictDegree(llvm::ArrayRef<int64_t> addresses, int64_t bytes);

/// The same for all accesses that move a tile between registers and memory, the worst of them.
/// Closed form, 2^(rank of the words − rank of their banks), where both layouts are linear over
/// bits; counted otherwise.
int64_t conflictDegree(const SharedAccess &access, const Layout &memory, int64_t elementBytes);

/// The most consecutive registers that are consecutive in memory and aligned, up to 16 bytes.
int64_t sharedVector(const Layout &threads, const Layout &memory, int64_t elementBytes);

/// The memory layout with flips such that every access has degree 1, or nothing if no such
/// swizzle exists, or a layout is not linear over bits. Bits below the longest vector stay in
/// place.
std::optional<Layout> swizzleFor(const Layout &memory, llvm::ArrayRef<SharedAccess> accesses,
                                 int64_t elementBytes);

/// Whether the layout is linear over bits: every size and stride is a power of two, and nothing is
/// padded.
bool isLinear(const Layout &layout);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_BANKCONFLICTS_H
