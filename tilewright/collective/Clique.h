// Clique: the ranks that take part in a collective, and whether their calls match.
#ifndef TILEWRIGHT_COLLECTIVE_CLIQUE_H
#define TILEWRIGHT_COLLECTIVE_CLIQUE_H

#include "tilewright/collective/Communicator.h"

namespace tilewright::collective {

using Clique = std::vector<int64_t>; // ranks, in the order of the group

/// The group of `rank` in this call; empty if the rank does not participate. In a permute, all
/// ranks that send or receive form one group. A call without groups means all ranks.
///  - collectiveGroups (E6002)
Result<std::optional<Clique>> cliqueOf(const Call &call, int64_t rank, int64_t ranks);

/// Whether the calls of two members describe the same collective.
bool agree(const Call &a, const Call &b);

/// A hash that is equal for calls that agree(). Members in different processes compare it, because
/// they cannot see each other's call.
uint64_t siteHash(const Call &call);

/// "'all_reduce.3' (all_reduce, order 3) at train.py:41"
std::string describe(const Call &call);

/// E6004, with the descriptions of both ranks' calls.
Status mismatch(int64_t rank, std::string_view theirs, int64_t other, std::string_view others);

/// Hashes a list of numbers. The hash is the same on every machine and in every run.
uint64_t hashOf(std::span<const int64_t> numbers, uint64_t seed);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_CLIQUE_H
