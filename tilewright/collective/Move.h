// Move: what one rank does in a collective, given everybody's memory.
#ifndef TILEWRIGHT_COLLECTIVE_MOVE_H
#define TILEWRIGHT_COLLECTIVE_MOVE_H

#include "tilewright/collective/Communicator.h"

#include <span>
#include <vector>

namespace tilewright::collective {

/// Whether the shapes of a call fit its kind and a group of `members` ranks, so
/// that the functions below stay inside the tensors.
///  - collectiveGroups (E6002)
///  - raggedRows (E6030)
Status checkCall(const Call &call, int64_t members);

/// A group's memory as one member sees it.
struct Party {
  const Call &own;
  size_t mine = 0, members = 1;
  /// Operands, and the results of the shares, of member m for tensor t at [m * tensors + t].
  std::span<const std::byte *const> in, out;
  std::span<const int64_t *const> ragged = {}; // by member, as Call::ragged

  const std::byte *inOf(size_t member, size_t tensor) const {
    return in[member * own.tensors.size() + tensor];
  }
  const std::byte *outOf(size_t member, size_t tensor) const {
    return out[member * own.tensors.size() + tensor];
  }
};

size_t inBytes(const Tensor &tensor);
size_t outBytes(const Tensor &tensor);

/// The bytes of a tensor that member `member` of an all_reduce reduces.
struct Share {
  size_t begin, bytes;
};
Share shareOf(const Tensor &tensor, size_t member, size_t members);

// Each fills the caller's results from the operands of all. Sums are taken in
// the order of the group, so all ranks get the same bits. An all_reduce is done whole
// by everybody, or in two halves with everybody waiting between: each member
// reduces its share, then collects those of the others.
void reduceAll(const Party &party);
/// `into` is, for each tensor, where the whole result would begin.
void reduceShare(const Party &party, std::span<std::byte *const> into);
void collectShares(const Party &party);
void gather(const Party &party);
void reduceScatter(const Party &party);
void allToAll(const Party &party);
///  - raggedRows (E6030): members do not agree about the rows that move.
Status raggedAllToAll(const Party &party);
/// From the member with this index; zeros if there is none.
void receive(const Party &party, std::optional<size_t> from);
/// Whichever of these the call's kind is; an all_reduce whole. `source` is sourceOf() of a
/// permutation.
///  - raggedRows (E6030)
Status exchange(const Party &party, std::optional<size_t> source);
/// The member whose operand member `mine` gets in a permutation, and the one that gets its own.
std::optional<size_t> sourceOf(const Call &call, std::span<const int64_t> clique, size_t mine);
std::optional<size_t> targetOf(const Call &call, std::span<const int64_t> clique, size_t mine);

/// Copies past the caches if there is more than they hold anyway.
void copyBytes(std::byte *to, const std::byte *from, size_t bytes);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_MOVE_H
