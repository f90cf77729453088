// Clock: when entries of a flight recorder happened, at the price of reading a register.
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

/// Whether the kernel itself tells the time by the processor's counter. Then it runs evenly and is
/// the same on all cores.
bool hasEvenCounter();

/// The clock of entries: the counter of the processor, which costs half of what the system's
/// clock does, or that clock.
inline uint64_t ticksNow(bool isCounter) {
#if defined(__x86_64__)
  if (isCounter)
    return __rdtsc();
#endif
  return monotonicNanoseconds();
}

Moment momentNow(bool isCounter);

/// Ticks of a file as nanoseconds, from two moments of it.
class TickScale {
public:
  TickScale() = default;
  TickScale(const Moment &first, const Moment &latest);
  /// On the monotonic clock of the host.
  int64_t monotonicOf(uint64_t ticks) const;
  /// What to add for the time of day, as it was when the file was last brought up to date.
  int64_t toReal() const { return base.real - base.monotonic; }

private:
  Moment base;
  double nanosecondsPerTick = 1;
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_CLOCK_H
