// Ordered: decides whether all conflicting accesses in a log are ordered, by following the order
// from access to access. It walks forward through the log and uses no vector clocks, so a bug in
// the checker's clocks is not repeated here.
#ifndef TEST_VGPU_MUTATION_ORDERED_H
#define TEST_VGPU_MUTATION_ORDERED_H

#include "Crossing.h"

namespace tilewright::vgpu::mutation {

/// Whether barriers, mbarriers, waits for groups, and acquires that read releases order every two
/// conflicting accesses of the log. Order by fences and between proxies is not followed: a kernel
/// that needs fences is never called ordered. Unless `isStrict`, an instruction that uses a result
/// of tcgen05.ld waits for it.
bool everyConflictIsOrdered(const Events &log, bool isStrict);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_ORDERED_H
