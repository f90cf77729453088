// Scale: jobs of up to 131,072 processes, with a simulated network and clock.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SCALE_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SCALE_H

#include <cstddef>
#include <cstdint>

namespace tilewright::collective::membership {

/// Times are in seconds of simulated time.
struct ScaleOutcome {
  double started = 0;      // from the start of the first process until all have the first view
  double noticed = 0;      // from the death until the last process knows that the epoch is over
  double agreed = 0;       // ... until the last process has the next view
  size_t neighbours = 0;   // connections of a process, at most
  double heartbeats = 0;   // that a process sends in a second
  double messages = 0;     // other messages of a process for the next view, on average
  size_t busiest = 0;      // ... and of the busiest process
  size_t members = 0;      // of the next view
  bool isComplete = false; // every live process has all views, and the dead one is out
};

struct ScaleScenario {
  size_t processes = 0;
  /// The process that falls silent: its connections stay open, so heartbeats must reveal it. If
  /// `isSeen`, they end with it instead.
  size_t victim = 0;
  bool isSeen = false;
  uint64_t seed = 1;
};

/// Starts a job of machines within a second, each of which connects to its neighbours one after the
/// other, a millisecond each; then one process dies. A message takes 20 to 60 microseconds, and its
/// receiver 2 microseconds to handle. Heartbeats are 200 ms apart, 5 of them are silence.
ScaleOutcome simulateScale(const ScaleScenario &scenario);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SCALE_H
