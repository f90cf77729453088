// FaultCampaign: runs jobs of real processes, injects the faults of a plan, and checks the results.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_FAULTCAMPAIGN_H
#define TILEWRIGHT_COLLECTIVE_TESTING_FAULTCAMPAIGN_H

#include "tilewright/collective/testing/FaultPlan.h"
#include "tilewright/collective/testing/Relay.h"

#include <optional>

namespace tilewright::collective::test {

/// The result of one plan.
struct Outcome {
  /// Incorrect behaviour: a hang, an exit, a wrong sum, a wrong culprit, a leaked resource.
  std::vector<std::string> wrongs;
  /// Correct, but too late.
  std::vector<std::string> lates;
  // Milliseconds, one for each survivor and fault:
  std::vector<double> notices;  // from a death to the error
  std::vector<double> errors;   // from a stop or cut, or a death while connecting, to the error
  std::vector<double> rebuilds; // from the death or the last error to the first good step
  uint64_t steps = 0;           // correct steps
};

/// Runs a job in new processes, on the hosts of `relay` if it has several.
Outcome runPlan(const FaultPlan &plan, Relay *relay);

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_FAULTCAMPAIGN_H
