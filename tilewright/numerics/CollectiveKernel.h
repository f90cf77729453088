// CollectiveKernel: a collective that kernels of several devices execute themselves. The compiler
// builds it, the runtime launches it.
#ifndef TILEWRIGHT_NUMERICS_COLLECTIVEKERNEL_H
#define TILEWRIGHT_NUMERICS_COLLECTIVEKERNEL_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/ElementType.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::numerics {

/// How a kernel moves data; docs/design/symmetric-kernels.md compares them.
enum class CollectiveForm : uint8_t {
  oneShot,   // all_reduce: each rank sends its operand to all others, and combines all of them
  direct,    // each element crosses a link once or, in an all_reduce (two-shot), twice
  multicast, // as direct, but the interconnect combines and multiplies
};
inline constexpr size_t collectiveFormCount = 3;
constexpr std::string_view nameOf(CollectiveForm form) {
  return form == CollectiveForm::oneShot  ? "one-shot"
         : form == CollectiveForm::direct ? "direct"
                                          : "multicast";
}

/// A collective of one tensor among `ranks` devices, on `points` blocks of each.
///
/// The kernel's parameters, where W is a window, the others are plain memory of the rank:
///  - all_reduce: one-shot: in, out, W staging, W signals; else W in, W out, W signals
///  - all_gather, all_to_all, broadcast, permute: in, W out, W signals
///  - reduce_scatter: W in, out, W signals
///  - ragged_all_to_all: in, lists, out, W slots, W counts, W signals
struct CollectiveKernel {
  std::string name = "collective";
  CollectiveKind kind = CollectiveKind::allReduce;
  ElementType element = ElementType::f32;
  ReductionKind operation = ReductionKind::add;
  CollectiveForm form = CollectiveForm::direct;
  /// The number of elements that a rank gives to each other rank. It counts elements of the operand
  /// in all_reduce, all_gather, broadcast and permute, of the result in reduce_scatter, and of a
  /// rank's piece in all_to_all.
  int64_t count = 0;
  int64_t ranks = 2, points = 1;
  /// permute: from rank to rank, each at most once on either side.
  std::vector<std::pair<int64_t, int64_t>> pairs = {};
  /// ragged_all_to_all: `count` is the size of a row; rows of this rank's `in` and `out`, and how
  /// many ranges of rows a rank sends to each rank. `lists` are the four lists of a call on devices
  /// (DeviceCommunicator::enqueue): first rows in `in`, sizes that are sent, first rows in `out`,
  /// sizes that arrive. `slots` holds up to `slotRows` rows of each range.
  int64_t rowsIn = 0, rowsOut = 0, ranges = 1, slotRows = 0;

  auto operator<=>(const CollectiveKernel &) const = default;
};

/// The bytes that a block of a one-shot kernel sends to a rank before a barrier. The same for all
/// kernels, so that kernels of different types and counts can share the staging: a block has the
/// same part of it in all of them.
inline constexpr int64_t stagingBytes = 8192;
/// The bytes of each rank's part of the staging, and of the signals.
inline constexpr int64_t stagingBytesOf(int64_t ranks, int64_t points) {
  return points * 2 * ranks * stagingBytes;
}
inline constexpr int64_t signalBytesOf(int64_t ranks, int64_t points) {
  return points * 2 * ranks * 4;
}

/// The bytes of each rank's part of the counts of a ragged_all_to_all.
inline constexpr int64_t countBytesOf(int64_t ranks, int64_t points) {
  return points * 2 * ranks * 8;
}

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_COLLECTIVEKERNEL_H
