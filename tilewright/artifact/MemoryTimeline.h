// MemoryTimeline: the live intervals of a program's temporaries, and the steps that write them
// first.
#ifndef TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H
#define TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H

#include "tilewright/artifact/Executable.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::artifact {

/// How the arena of a program is used over time, as the compiler planned it.
///
///   if (std::optional<MemoryTimeline> memory = MemoryTimeline::of(executable))
///     for (size_t holder : memory->aliveAt(memory->peakTime)) …
///
/// Time is measured in events: the start and the end of each op of the plan, in execution order. A
/// loop body counts once. The executable must outlive this.
struct MemoryTimeline {
  /// A range of the arena that one value occupies, or several values one after the other.
  struct Buffer {
    int64_t offset = 0, bytes = 0;
    int64_t begin = 0, end = 0; // inclusive
    size_t maker = 0;           // the step that first writes it
  };
  /// A time at which the number of live bytes changes.
  struct Change {
    int64_t time = 0, bytes = 0;
  };

  std::vector<const Step *> steps; // each loop or branch before the steps of its blocks
  std::vector<int64_t> times;      // when each step begins
  std::vector<Buffer> buffers;     // sorted by begin
  std::vector<Change> changes;     // sorted by time; `bytes` are live from then on
  int64_t endTime = 0;
  int64_t peakTime = 0, peakBytes = 0; // the first time at which most bytes are live

  /// Empty if the executable has no timeline or an inconsistent one.
  static std::optional<MemoryTimeline> of(const Executable &executable);

  /// Bytes that are live at `time`.
  int64_t bytesAt(int64_t time) const;
  /// Buffers that are live at `time`, the largest first.
  std::vector<size_t> aliveAt(int64_t time) const;
};

/// Adds the statistics that MemoryTimeline reads: the time of each step, by block, and for each
/// buffer of the arena its offset, bytes, begin and end.
void addMemoryTimeline(Executable &executable, std::span<const std::vector<int64_t>> stepTimes,
                       std::span<const int64_t> arena);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H
