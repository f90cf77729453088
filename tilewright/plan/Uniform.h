// Uniform: checks that within each clique either all ranks reach an exchange or none does.
#ifndef TILEWRIGHT_PLAN_UNIFORM_H
#define TILEWRIGHT_PLAN_UNIFORM_H

#include "tilewright/plan/ProgramTree.h"
#include "tilewright/plan/Verify.h"

#include <optional>

namespace tilewright::collective {

/// The sites of each collective, without those that no rank can reach.
std::vector<std::vector<PlanIndex>> sitesByCollective(const ProgramTree &tree);

/// Finds a group in which one rank reaches an exchange and another does not. Prefers a group in
/// which the ranks can make different run-time choices over one in which a rank-dependent branch
/// separates them.
std::optional<Counterexample> findUneven(const ProgramTree &tree,
                                         const std::vector<std::vector<PlanIndex>> &collectives);

/// The run-time choices that lead `rank` to a site; loops with unknown trip count run once.
std::vector<Choice> choicesTo(const ProgramTree &tree, PlanIndex site, int64_t rank);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_UNIFORM_H
