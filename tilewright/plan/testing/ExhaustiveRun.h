// ExhaustiveRun: runs a small plan in every order of its ranks and with every run-time choice. It
// is the oracle for verify(), written only from the semantics in Verify.h.
#ifndef TILEWRIGHT_PLAN_TESTING_EXHAUSTIVERUN_H
#define TILEWRIGHT_PLAN_TESTING_EXHAUSTIVERUN_H

#include "tilewright/plan/Verify.h"

#include <optional>
#include <vector>

namespace tilewright::collective {

struct ExhaustiveLimits {
  size_t combinations = 400; // of choices
  size_t states = 10'000;    // over all combinations
  uint32_t iterations = 2;   // of a loop with unknown trip count
};

struct ExhaustiveVerdict {
  bool canDeadlock = false;
  /// Whether the end state depended on the speed of the ranks, which the semantics rule out.
  bool hasRace = false;
  size_t combinations = 0, states = 0;
};

/// Empty if a limit was exceeded.
std::optional<ExhaustiveVerdict> runExhaustively(const CommPlan &plan,
                                                 const ExhaustiveLimits &limits = {});

/// Runs the plan with the choices of a counterexample, and with the first arm at all other choices.
/// Returns true if the counterexample's ranks are stuck in its exchanges in every order of running.
bool replays(const CommPlan &plan, const Counterexample &counterexample);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_TESTING_EXHAUSTIVERUN_H
