// Simulation: a job with simulated processes, network and clock. Injects faults, and a witness
// checks each step.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SIMULATION_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SIMULATION_H

#include "tilewright/collective/membership/testing/UnsafeStateMachine.h"

#include <iosfwd>

namespace tilewright::collective::membership {

/// The result of a schedule.
struct Outcome {
  std::string problem; // the first violation; empty: none
  size_t steps = 0;    // events
  size_t processes = 0;
  size_t views = 0;   // delivered by all processes together, without the first view of each
  size_t crashes = 0; // including crashes in the middle of a step
  size_t pauses = 0, cuts = 0, partitions = 0, suspicions = 0, restarts = 0;
  size_t minorities = 0, fenced = 0, unsettled = 0; // processes that stopped with this error
  /// Whether only survivable faults happened, so that all survivors had to continue together.
  bool isStrict = false;
};

/// Runs the schedule of a seed: 2 to 9 processes on 1 to 3 hosts. A seed gives the same run on
/// every machine. Writes the events to `log` if it is not null.
Outcome simulate(uint64_t seed, const UnsafeStateMachine::Rules &rules = {},
                 std::ostream *log = nullptr, size_t dense = 64);

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_SIMULATION_H
