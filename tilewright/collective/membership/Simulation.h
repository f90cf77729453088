// Simulation: a job whose processes, network and clock are simulated, with everything that can go
// wrong, and a witness that looks at each step.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_SIMULATION_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_SIMULATION_H

#include "tilewright/collective/membership/Machine.h"

#include <iosfwd>

namespace tilewright::collective::membership {

/// What happened in a schedule.
struct Outcome {
  std::string problem; // what must not be; empty: all was well
  size_t steps = 0;    // events
  size_t processes = 0;
  size_t views = 0;   // delivered, after the first, by all processes together
  size_t crashes = 0; // also in the middle of a step
  size_t pauses = 0, cuts = 0, partitions = 0, suspicions = 0, restarts = 0;
  size_t minorities = 0, fenced = 0, unsettled = 0; // processes that were told so
  /// Whether only what must be survived happened, so that all who were left had to go on together.
  bool isStrict = false;
};

/// Runs the schedule of a seed: 2 to 9 processes on 1 to 3 hosts. The same seed does the same, on
/// every machine. What happens is written to `log` if there is one.
Outcome simulate(uint64_t seed, const Machine::Settings::Rules &rules = {},
                 std::ostream *log = nullptr);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_SIMULATION_H
