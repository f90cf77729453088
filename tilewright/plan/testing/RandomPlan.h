// RandomPlan: small random plans of every shape, some of which deadlock.
#ifndef TILEWRIGHT_PLAN_TESTING_RANDOMPLAN_H
#define TILEWRIGHT_PLAN_TESTING_RANDOMPLAN_H

#include "tilewright/plan/CommPlan.h"

namespace tilewright::collective {

/// A random plan with at most 6 ranks, about 6 collectives and up to two lanes; ranks wait
/// immediately or later; loops and branches are known, uniform, varying, or decided by the rank.
/// The plan is always valid, and the same seed gives the same plan.
CommPlan randomPlan(uint64_t seed);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_TESTING_RANDOMPLAN_H
