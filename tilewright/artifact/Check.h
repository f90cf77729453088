// checkExecutable(): everything an executable promises, whoever made it.
#ifndef TILEWRIGHT_ARTIFACT_CHECK_H
#define TILEWRIGHT_ARTIFACT_CHECK_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <cstddef>

namespace tilewright::artifact {

/// Blocks within blocks, and attributes within attributes, so that whoever
/// walks them may recurse.
inline constexpr size_t maxBlockNesting = 128, maxAttributeNesting = 16;
/// More buffers than any kernel has, and more scratch than a thread's share of a cache.
inline constexpr size_t maxBuffers = 4096;
inline constexpr int64_t maxScratchBytes = int64_t(1) << 28;
/// No machine has more memory, and sums of a few of these do not overflow.
inline constexpr int64_t maxBytes = int64_t(1) << 56;

/// Holds an executable against these rules; the message names the first that
/// is broken and where. The reader calls it, and the compiler may after emitting.
///
///  - Indices are in range; enums have been checked by whoever decoded them.
///  - Types have a size. Allocations of parameters and results have that of
///    their type; constants and temporaries lie inside their section or arena,
///    at multiples of 64. Each result that has bytes has an
///    allocation, or takes over a parameter's memory, where it may be left.
///  - Slices begin at a multiple of 64 and lie inside their allocation; operands
///    have exactly the bytes of their type; copies have equal bytes; a predicate
///    has a byte and a selector four.
///  - Blocks form a tree under the first: each other block is used by one step,
///    once, and none is deeper than maxBlockNesting.
///  - A collective begins once and ends once, later in the same block.
///  - No step other than a launch has a result in the constants, which runs share.
///  - Kernels have a GpuLaunch if and only if the target is a GPU: within what any
///    GPU takes, with tensor maps of which each lies inside its buffer.
///
/// Not checked: what a launch writes, which only the kernel knows, and that
/// parameters that are not donated are left alone. Both are the compiler's word,
/// like the object code itself.
Status checkExecutable(const Executable &executable);

/// The same before those are in place which are bytes.
struct ByteSections {
  size_t constants = 0, object = 0, binary = 0;
};
Status checkExecutable(const Executable &executable, const ByteSections &sections);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECK_H
