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
  // Take the fastest of a few attempts, so that a context switch between two clock reads does not
  // skew the result.
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

/// Limits on times, because damaged files may contain any value: differences of valid times do not
/// overflow. They allow nine years of uptime, and 146 years since 1970.
static constexpr int64_t longestUptime = int64_t(1) << 58, latestDay = int64_t(1) << 62;

TickScale::TickScale(const Moment &first, const Moment &latest) : base(latest) {
  base.monotonic = std::clamp<int64_t>(base.monotonic, 0, longestUptime);
  base.real = std::clamp<int64_t>(base.real, 0, latestDay);
  const auto ticks = static_cast<double>(static_cast<int64_t>(latest.ticks - first.ticks));
  const double time = static_cast<double>(latest.monotonic) - static_cast<double>(first.monotonic);
  // Accept only counters between 1 MHz and 1 THz.
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
