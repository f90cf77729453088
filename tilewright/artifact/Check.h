// checkExecutable(): checks all invariants of an executable that was compiled or read from a file.
#ifndef TILEWRIGHT_ARTIFACT_CHECK_H
#define TILEWRIGHT_ARTIFACT_CHECK_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <cstddef>

namespace tilewright::artifact {

/// Limits on the nesting of blocks and attributes, so that code can traverse both recursively.
inline constexpr size_t maxBlockNesting = 128, maxAttributeNesting = 16;
/// Limits far above what real kernels need, in number of buffers and in scratch per thread.
inline constexpr size_t maxBuffers = 4096;
inline constexpr int64_t maxScratchBytes = int64_t(1) << 28;
/// Limit on a size: more memory than any machine has, and small enough that sums of a few sizes do
/// not overflow.
inline constexpr int64_t maxBytes = int64_t(1) << 56;

/// Checks an executable against the rules below; the message names the first violation and its
/// location. The reader always calls it; the compiler may call it after emitting.
///
///  - Indices are in range. (The decoder has already checked enums.)
///  - Every type has a known size. Allocations of parameters and results have the size of their
///    type; constants and temporaries lie inside their section or arena, at multiples of 64. Each
///    result that is not empty has an allocation or aliases a parameter; the program may leave an
///    aliased result in the parameter's allocation.
///  - Slices begin at a multiple of 64 and lie inside their allocation. An operand's slice has
///    exactly the size of its type, the two slices of a copy have the same size, a predicate has at
///    least one byte and a selector at least four (one if it is a pred).
///  - Blocks form a tree rooted at the first block: exactly one step uses each other block, once,
///    and no block is nested deeper than maxBlockNesting.
///  - A collective begins once and ends once, later in the same block.
///  - No step writes to the constants, which runs share. (For launches this is not checked.)
///  - No object is empty, and there is at least one if a kernel or library call names a function.
///    For a GPU there is at most one.
///  - Kernels have a GpuLaunch if and only if the target is a GPU. A GpuLaunch is within the limits
///    that all GPUs have in common, and each tensor map lies inside its buffer.
///
/// Not checked: what a launch writes, which only the kernel knows, and that no step writes a
/// parameter that is not donated. For both we trust the compiler, as we do for the object code.
Status checkExecutable(const Executable &executable);

/// Sizes of the byte sections, to check an executable before these sections are copied into it.
struct ByteSections {
  size_t constants = 0, binary = 0;
};
Status checkExecutable(const Executable &executable, const ByteSections &sections);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECK_H
