// RandomPlan: small plans of every shape, some of which stand still.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_RANDOMPLAN_H
#define TILEWRIGHT_COLLECTIVE_PLAN_RANDOMPLAN_H

#include "tilewright/collective/plan/CommPlan.h"

namespace tilewright::collective {

/// At most 6 ranks, about 6 collectives each; several lanes, waits at once or later, loops and
/// branches that are known, the same for all, varying, or decided by the rank. Always valid; the
/// same for the same seed.
CommPlan randomPlan(uint64_t seed);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_RANDOMPLAN_H
