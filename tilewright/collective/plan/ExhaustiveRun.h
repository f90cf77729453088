// ExhaustiveRun: every order in which the ranks of a small plan can run, for every choice the run
// can make. The judge of verify(): written from the meaning in Verify.h and from nothing else.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_EXHAUSTIVERUN_H
#define TILEWRIGHT_COLLECTIVE_PLAN_EXHAUSTIVERUN_H

#include "tilewright/collective/plan/Verify.h"

#include <optional>
#include <vector>

namespace tilewright::collective {

struct ExhaustiveLimits {
  size_t combinations = 400; // of choices
  size_t states = 10'000;    // of all combinations
  uint32_t turns = 2;        // of a loop that only the run knows
};

struct ExhaustiveVerdict {
  bool canStandStill = false;
  /// Where a run ends depended on who was faster, which the meaning says it does not.
  bool hasRace = false;
  size_t combinations = 0, states = 0;
};

/// Nothing if a limit is reached.
std::optional<ExhaustiveVerdict> runExhaustively(const CommPlan &plan,
                                                 const ExhaustiveLimits &limits = {});

/// Runs with the choices of a counterexample, all others at their first arm: the ranks that it
/// names stand still at the exchanges that it names, in every order of running.
bool replays(const CommPlan &plan, const Counterexample &counterexample);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_EXHAUSTIVERUN_H
