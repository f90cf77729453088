// Clock: cheap timestamps for the flight recorder.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_CLOCK_H
#define TILEWRIGHT_COLLECTIVE_RECORD_CLOCK_H

#include "tilewright/collective/record/Format.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <chrono>

namespace tilewright::collective::record {

inline uint64_t monotonicNanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// Whether the kernel uses the TSC as its clock source. If so, the TSC runs at a constant rate and
/// is synchronized between all cores.
bool hasEvenCounter();

/// The timestamp of an entry: if `isCounter`, the TSC, which takes half as long to read as the
/// system clock; otherwise the system clock.
inline uint64_t ticksNow(bool isCounter) {
#if defined(__x86_64__)
  if (isCounter)
    return __rdtsc();
#endif
  return monotonicNanoseconds();
}

Moment momentNow(bool isCounter);

/// Converts ticks to nanoseconds, using two moments recorded in the same file.
class TickScale {
public:
  TickScale() = default;
  TickScale(const Moment &first, const Moment &latest);
  /// The time on the host's monotonic clock.
  int64_t monotonicOf(uint64_t ticks) const;
  /// Offset from monotonic time to wall-clock time, as of the file's latest refresh.
  int64_t toReal() const { return base.real - base.monotonic; }

private:
  Moment base;
  double nanosecondsPerTick = 1;
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_CLOCK_H
