// Move: what one rank does in a collective, given everybody's memory.
#ifndef TILEWRIGHT_COLLECTIVE_LOCAL_MOVE_H
#define TILEWRIGHT_COLLECTIVE_LOCAL_MOVE_H

#include "tilewright/collective/Communicator.h"

#include <span>
#include <vector>

namespace tilewright::collective {

/// Whether the shapes of a call fit its kind and a group of `members` ranks, so
/// that the functions below stay inside the tensors.
///  - collectiveGroups (E6002)
Status checkCall(const Call &call, int64_t members);

/// Members' calls in the order of the group, and which of them is the caller's.
struct Party {
  std::span<const Call *const> calls;
  size_t mine;
  const Call &own() const { return *calls[mine]; }
};

// Each fills the caller's results from the operands of all. An all_reduce has
// two halves with everybody waiting between: each member reduces its share, then
// collects those of the others. Sums are taken in the order of the group, so all
// ranks get the same bits.
void reduceShare(const Party &party);
void collectShares(const Party &party);
void gather(const Party &party);
void reduceScatter(const Party &party);
void allToAll(const Party &party);
/// From the member with this index; zeros if there is none.
void receive(const Call &own, const Call *from);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_LOCAL_MOVE_H
