// verify(): no run of a plan can stand still, or the smallest reason why one can.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_VERIFY_H
#define TILEWRIGHT_COLLECTIVE_PLAN_VERIFY_H

#include "tilewright/collective/plan/CommPlan.h"

#include <variant>

namespace tilewright::collective {

// What runs, and what it means to stand still.
//
// Each rank walks through the plan's tree. At a site of whose clique it is no member it does
// nothing. At a start it issues the exchange into the site's lane and goes on; at a done it waits
// until that exchange is complete. The k-th exchange that a rank issues in a group of ranks meets
// the k-th of each other member. An exchange is complete when all members of the group have it
// at the head of its lane, all with the same meeting number; then it leaves the lanes. Ranks run
// at any speed. A run stands still if some rank never reaches its end.
//
// Choices that only the run knows are made against us, as far as `Guard::varies` lets them differ.
//
// The meaning has no races: what is complete stays so and nothing that one rank does takes
// anything from another. So whether a run with given choices stands still, and where, does not
// depend on who is faster, and one run through (a topological sort of the instance graph whose
// edges are never stored) decides it.

/// A choice that the run makes, for a counterexample.
struct Choice {
  PlanIndex guard = 0;
  std::vector<uint32_t> turns; // of the loops around it, outermost first
  uint32_t place = 0;          // along Guard::varies: ranks there choose so
  uint32_t arm = 0;            // for a loop, how many turns
  bool operator==(const Choice &) const = default;
};

/// A rank that waits for ever, and for whom.
struct Wait {
  int64_t rank = 0;
  PlanIndex site = 0;          // whose completion it waits for
  std::vector<uint32_t> turns; // of the loops around it, outermost first
  /// Who does not come, because it waits in the next of the list (the last waits for the first),
  /// came with another exchange, or never comes.
  int64_t forRank = 0;
};

struct Counterexample {
  enum class Reason : uint8_t {
    varies,  // a choice may differ within a clique: waits[0] says who is alone
    missed,  // waits[0].forRank never comes to it
    differs, // waits[0] and waits[1] come to one exchange of their group with different ones
    cycle,   // waits form a circle
  };
  Reason reason = Reason::cycle;
  std::vector<Wait> waits;
  /// Those on which it depends; all others may be anything.
  std::vector<Choice> choices;
};

/// Why no run stands still.
struct Proof {
  enum class Method : uint8_t {
    /// Every exchange has one place in the program, which all its ranks pass, and every choice is
    /// the same within each clique: the order of the program is the order. Independent of the
    /// number of ranks, except for branches that a rank decides.
    programOrder,
    /// Ranks call exchanges from different places: one run through of all of them.
    instances,
  };
  Method method = Method::programOrder;
  int64_t ranks = 0;
  int64_t instances = 0; // exchanges run through; 0 with programOrder
  int64_t events = 0;    // starts and dones of all ranks; the same
  /// The sites in an order in which their exchanges can complete.
  std::vector<PlanIndex> order;
};

struct VerifyOptions {
  /// Runs through all instances even if the order of the program is enough; for tests.
  bool runsInstances = false;
  /// More events than this are not run through.
  int64_t maxEvents = int64_t(1) << 28;
  /// As many combinations of choices are tried where arms exclude each other.
  int64_t maxCases = 256;
};

/// `plan` has passed checkPlan().
///  - commUnproven (E6019): it is too large to run through; never silently "ok".
Result<std::variant<Proof, Counterexample>> verify(const CommPlan &plan,
                                                   const VerifyOptions &options = {});

/// What happens, rank by rank, with source lines.
std::string describe(const CommPlan &plan, const Counterexample &counterexample);
/// Mesh, cliques, guards and the order of the sites.
std::string describe(const CommPlan &plan, const Proof &proof);
/// E6015 to E6018 with that text.
Status toStatus(const CommPlan &plan, const Counterexample &counterexample);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_VERIFY_H
