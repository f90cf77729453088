// A communication plan as bytes, and what tells two plans apart.
#ifndef TILEWRIGHT_COLLECTIVE_PLAN_PLANBYTES_H
#define TILEWRIGHT_COLLECTIVE_PLAN_PLANBYTES_H

#include "tilewright/collective/plan/CommPlan.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tilewright::collective {

/// Numbers are LEB128, signed ones zigzag; a string or list is its count and then its items. Equal
/// plans have equal bytes, and the other way round.
std::vector<std::byte> writePlan(const CommPlan &plan);

/// Whatever the bytes: a plan that checkPlan() accepts or a failure, in time and memory linear in
/// their number and in that of the ranks that the plan is for.
///  - commPlanEncoding (E6010): the bytes are not a plan, or one of another version.
///  - commPlanInvalid (E6011): it contradicts itself.
Result<CommPlan> readPlan(std::span<const std::byte> bytes);

/// 16 bytes of the plan's bytes.
Fingerprint fingerprintOf(const CommPlan &plan);

/// The first thing in which two plans differ, in words: both sites with their source lines, or a
/// mesh, a clique, a guard. Empty if they are equal. `mine` and `theirs` name the two.
std::string firstDifference(const CommPlan &a, const CommPlan &b, const std::string &mine,
                            const std::string &theirs);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_PLAN_PLANBYTES_H
