// FaultCampaign: jobs of real processes that are struck by a plan, and what must be true of them.
#ifndef TILEWRIGHT_COLLECTIVE_TEST_FAULTCAMPAIGN_H
#define TILEWRIGHT_COLLECTIVE_TEST_FAULTCAMPAIGN_H

#include "tilewright/collective/test/FaultPlan.h"
#include "tilewright/collective/test/Relay.h"

#include <optional>

namespace tilewright::collective::test {

/// What came of one plan.
struct Outcome {
  /// Not as it should be: a hang, an exit, a wrong sum or name, something left behind.
  std::vector<std::string> wrongs;
  /// As it should be, but too late.
  std::vector<std::string> lates;
  // Milliseconds, of each survivor and fault:
  std::vector<double> notices;  // from a death to the error
  std::vector<double> errors;   // from a stop or cut, or a death while connecting, to the error
  std::vector<double> rebuilds; // from the death, or from the last error, to a step that worked
  uint64_t steps = 0;           // that were right
};

/// Runs a job in processes of its own, on the hosts of `relay` if it has several.
Outcome runPlan(const FaultPlan &plan, Relay *relay);

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TEST_FAULTCAMPAIGN_H
