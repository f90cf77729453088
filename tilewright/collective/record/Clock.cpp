#include "tilewright/collective/record/Clock.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace tilewright::collective::record {

bool hasEvenCounter() {
#if defined(__x86_64__)
  static const bool isEven = [] {
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    return source == "tsc";
  }();
  return isEven;
#else
  return false;
#endif
}

Moment momentNow(bool isCounter) {
  using namespace std::chrono;
  // The one of a few tries that took the shortest, so that a process that is put aside between two
  // clocks does not part them.
  Moment best;
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = ticksNow(isCounter);
    const uint64_t monotonic = monotonicNanoseconds();
    const int64_t real = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    const uint64_t after = ticksNow(isCounter);
    if (after - before < shortest) {
      shortest = after - before;
      best = {before + (after - before) / 2, static_cast<int64_t>(monotonic), real};
    }
  }
  return best;
}

/// Damaged files may have anything here: so far are times from zero at most, so that differences of
/// them are numbers. Nine years of uptime, and 146 from 1970.
static constexpr int64_t longestUptime = int64_t(1) << 58, latestDay = int64_t(1) << 62;

TickScale::TickScale(const Moment &first, const Moment &latest) : base(latest) {
  base.monotonic = std::clamp<int64_t>(base.monotonic, 0, longestUptime);
  base.real = std::clamp<int64_t>(base.real, 0, latestDay);
  const auto ticks = static_cast<double>(static_cast<int64_t>(latest.ticks - first.ticks));
  const double time = static_cast<double>(latest.monotonic) - static_cast<double>(first.monotonic);
  // No counter is slower than 1 MHz or faster than 1 THz.
  if (const double ratio = time / ticks; ratio >= 0.001 && ratio <= 1000)
    nanosecondsPerTick = ratio;
}

int64_t TickScale::monotonicOf(uint64_t ticks) const {
  const double passed =
      static_cast<double>(static_cast<int64_t>(ticks - base.ticks)) * nanosecondsPerTick;
  const auto most = static_cast<double>(longestUptime);
  return base.monotonic + static_cast<int64_t>(std::clamp(passed, -most, most));
}

} // namespace tilewright::collective::record
