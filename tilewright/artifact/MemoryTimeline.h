// MemoryTimeline: which temporaries of a program are alive when, and who made them.
#ifndef TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H
#define TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H

#include "tilewright/artifact/Executable.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::artifact {

/// The arena of a program over its plan, as the compiler laid it out.
///
///   if (std::optional<MemoryTimeline> memory = MemoryTimeline::of(executable))
///     for (size_t holder : memory->aliveAt(memory->peakTime)) …
///
/// Time counts the begins and ends of the plan's ops, in the order in which they run; what is
/// in a loop comes once. The executable must outlive this.
struct MemoryTimeline {
  /// Memory of the arena that one value has, or several one after the other.
  struct Buffer {
    int64_t offset = 0, bytes = 0;
    int64_t begin = 0, end = 0; // both included
    size_t maker = 0;           // the step that first writes it
  };
  /// A moment at which the bytes alive change.
  struct Change {
    int64_t time = 0, bytes = 0;
  };

  std::vector<const Step *> steps; // loops and branches before what they run
  std::vector<int64_t> times;      // when each step begins
  std::vector<Buffer> buffers;     // by begin
  std::vector<Change> changes;     // by time; bytes from there on
  int64_t endTime = 0;
  int64_t peakTime = 0, peakBytes = 0; // the first moment with the most bytes alive

  /// Nothing if the executable does not say, or says what cannot be.
  static std::optional<MemoryTimeline> of(const Executable &executable);

  /// Bytes alive at a time.
  int64_t bytesAt(int64_t time) const;
  /// Buffers alive at a time, the largest first.
  std::vector<size_t> aliveAt(int64_t time) const;
};

/// Adds what MemoryTimeline reads: the time of each step, by block, and of each buffer of the arena
/// its offset, bytes, begin and end.
void addMemoryTimeline(Executable &executable, std::span<const std::vector<int64_t>> stepTimes,
                       std::span<const int64_t> arena);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_MEMORYTIMELINE_H
