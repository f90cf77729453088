// Serialization, fingerprint and comparison of communication plans.
#ifndef TILEWRIGHT_PLAN_PLANBYTES_H
#define TILEWRIGHT_PLAN_PLANBYTES_H

#include "tilewright/plan/CommPlan.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tilewright::collective {

/// Serializes a plan. Numbers are LEB128, signed ones zigzag-encoded; a string or list is its count
/// and then its items. Plans are equal if and only if their bytes are.
std::vector<std::byte> writePlan(const CommPlan &plan);

/// Deserializes untrusted bytes. Returns either a plan that checkPlan() accepts or an error, in
/// time and memory linear in the number of bytes and ranks.
///  - commPlanEncoding (E6010): the bytes are not a plan, or have another version.
///  - commPlanInvalid (E6011): the plan is inconsistent.
Result<CommPlan> readPlan(std::span<const std::byte> bytes);

/// A 16-byte hash of the serialized plan.
Fingerprint fingerprintOf(const CommPlan &plan);

/// Describes the first difference between two plans: both sites with their source lines, or a mesh,
/// clique or guard. Empty if they are equal. `mine` and `theirs` name the owners of `a` and `b`.
std::string firstDifference(const CommPlan &a, const CommPlan &b, const std::string &mine,
                            const std::string &theirs);

} // namespace tilewright::collective

#endif // TILEWRIGHT_PLAN_PLANBYTES_H
