// Clique: who takes part in a collective, and whether all of them mean the same one.
#ifndef TILEWRIGHT_COLLECTIVE_CLIQUE_H
#define TILEWRIGHT_COLLECTIVE_CLIQUE_H

#include "tilewright/collective/Communicator.h"

namespace tilewright::collective {

using Clique = std::vector<int64_t>; // ranks, in the order of the group

/// The group that a rank belongs to; nothing if none. A permutation is one meeting of all who send
/// or receive. Groups that are empty as a whole mean everybody.
///  - collectiveGroups (E6002)
Result<std::optional<Clique>> cliqueOf(const Call &call, int64_t rank, int64_t ranks);

/// Two members mean the same collective.
bool agree(const Call &a, const Call &b);

/// Equal for calls that agree; what members compare when they cannot see each other's call.
uint64_t siteHash(const Call &call);

/// "'all_reduce.3' (all_reduce, order 3) at train.py:41"
std::string describe(const Call &call);

/// E6004, from what two ranks say of their calls.
Status mismatch(int64_t rank, std::string_view theirs, int64_t other, std::string_view others);

/// One number for some numbers. The same on every machine and in every run.
uint64_t hashOf(std::span<const int64_t> numbers, uint64_t seed);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_CLIQUE_H
