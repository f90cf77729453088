// Uniform control: within each clique, all ranks come to an exchange or none does.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_UNIFORM_H
#define TILEWRIGHT_COLLECTIVE_PLAN_UNIFORM_H

#include "tilewright/collective/plan/ProgramTree.h"
#include "tilewright/collective/plan/Verify.h"

#include <optional>

namespace tilewright::collective {

/// Sites by meeting; only those that a rank can ever come to.
std::vector<std::vector<PlanIndex>> meetingsOf(const ProgramTree &tree);

/// A group of ranks of which one comes to an exchange and another does not: because a choice that
/// only the run knows may differ between them, or, if there is none such, because the rank itself
/// decides so.
std::optional<Counterexample> findUneven(const ProgramTree &tree,
                                         const std::vector<std::vector<PlanIndex>> &meetings);

/// The choices of the run that bring `rank` to a site; loops that only the run knows turn once.
std::vector<Choice> choicesTo(const ProgramTree &tree, PlanIndex site, int64_t rank);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_UNIFORM_H
