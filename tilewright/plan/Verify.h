// verify(): proves that a plan cannot deadlock, or returns a minimal counterexample.
#ifndef TILEWRIGHT_PLAN_VERIFY_H
#define TILEWRIGHT_PLAN_VERIFY_H

#include "tilewright/plan/CommPlan.h"

#include <variant>

namespace tilewright::collective {

// Semantics of a plan, and the definition of a deadlock.
//
// Each rank executes the plan's tree. At a site whose clique does not contain it, the rank does
// nothing. At a start it issues the exchange into the site's lane and continues; at a done it waits
// until that exchange is complete. The k-th exchange that a rank issues in a group matches the k-th
// of each other member. An exchange completes when all members of the group have it at the head of
// its lane, all with the same collective id; then it leaves the lanes. Ranks run at any speed. A
// run deadlocks if a rank never reaches the end of its program.
//
// Choices that are known only at run time are adversarial, within what `Guard::varies` allows.
//
// These semantics are race-free: a completed exchange stays complete, and no step of one rank
// disables a step of another. So for given choices neither the outcome nor the deadlocked state
// depends on the ranks' speed, and one simulated run decides it. The run is a topological sort of
// the graph of exchange instances, whose edges are never stored.

/// A run-time choice in a counterexample.
struct Choice {
  PlanIndex guard = 0;
  std::vector<uint32_t> iterations; // iterations of the enclosing loops, outermost first
  uint32_t place = 0;               // coordinates along Guard::varies; ranks there make this choice
  uint32_t arm = 0;                 // for a loop, the number of iterations
  bool operator==(const Choice &) const = default;
};

/// A rank that waits forever, and the rank it waits for.
struct Wait {
  int64_t rank = 0;
  PlanIndex site = 0;               // the exchange that it waits for
  std::vector<uint32_t> iterations; // iterations of the enclosing loops, outermost first
  /// The rank that does not join: it waits in the next entry (the first entry follows the last), it
  /// issued another exchange, or it never reaches this one.
  int64_t forRank = 0;
};

struct Counterexample {
  enum class Reason : uint8_t {
    varies,  // a choice may differ within a clique; waits[0] is the rank that is left alone
    missed,  // waits[0].forRank never reaches the exchange
    differs, // waits[0] and waits[1] issue different exchanges as the k-th of their group
    cycle,   // waits form a cycle
  };
  Reason reason = Reason::cycle;
  std::vector<Wait> waits;
  /// The choices that the deadlock depends on; all others are arbitrary.
  std::vector<Choice> choices;
};

/// Why no run can deadlock.
struct Proof {
  enum class Method : uint8_t {
    /// Every exchange has one site, which all its ranks reach, and every choice is uniform within
    /// each clique. So program order is a valid completion order. The cost of this check does not
    /// depend on the number of ranks, except for rank-dependent branches.
    programOrder,
    /// Ranks issue exchanges from different sites, so one run of all ranks was simulated.
    instances,
  };
  Method method = Method::programOrder;
  int64_t ranks = 0;
  int64_t instances = 0; // exchanges simulated; 0 with programOrder
  int64_t events = 0;    // starts and dones of all ranks; also 0 with programOrder
  /// The sites, in an order in which their exchanges can complete.
  std::vector<PlanIndex> order;
};

struct VerifyOptions {
  /// Simulate all instances even if program order already proves that the plan cannot deadlock; for
  /// tests.
  bool runsInstances = false;
  /// Plans with more events than this are not simulated.
  int64_t maxEvents = int64_t(1) << 27;
  /// The maximum number of combinations of mutually exclusive arms to simulate.
  int64_t maxCases = 256;
};

/// Proves that the plan cannot deadlock, or returns a counterexample. `plan` must have passed
/// checkPlan().
///  - commUnproven (E6019): the plan is too large to simulate; it is never silently accepted.
Result<std::variant<Proof, Counterexample>> verify(const CommPlan &plan,
                                                   const VerifyOptions &options = {});

/// Describes the deadlock rank by rank, with source lines.
std::string describe(const CommPlan &plan, const Counterexample &counterexample);
/// Describes the mesh, cliques, guards and the order of the sites.
std::string describe(const CommPlan &plan, const Proof &proof);
/// E6015 to E6018 with the text of describe().
Status toStatus(const CommPlan &plan, const Counterexample &counterexample);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_VERIFY_H
