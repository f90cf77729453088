// Doubling: collectives of many ranks in log2(n) steps.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_DOUBLING_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_DOUBLING_H

#include "tilewright/collective/messages/Messages.h"

namespace tilewright::collective::messages {

/// From this number of members on, a member does not exchange messages with every other one
/// directly.
inline constexpr size_t manyMembers = 64;

/// The collective of `request` in which each member sends at most 2 log2(n) + 1 messages, for any
/// number n of members (Bruck's algorithm and its reverse, a binomial tree):
///
///   all_gather       in step d = 1, 2, 4, … each member has the blocks of the d members from
///                    itself on, and gets those of the next d from member + d
///   reduce_scatter   the same steps backward; blocks are added where they meet
///   all_reduce       reduce_scatter of shares, then all_gather: 2 (n - 1) / n of the tensor
///   all_to_all       in step d each member passes on the pieces that have to move by d. Pieces
///                    travel up to log2(n) times, so only small ones are sent in this way
///   broadcast        a tree from the first member
///   barrier          an all_gather of nothing
///
/// Sums are associated along trees, the same in every run; all members get the same bits. Null if
/// the collective has no such form: permute, ragged_all_to_all, large pieces of an all_to_all, sums
/// of several element types or by a function. Takes the channel's next sequence number unless null.
std::unique_ptr<Operation> makeDoubling(Messages &messages, OrderedChannel &channel,
                                        const CollectiveRequest &request);

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_DOUBLING_H
