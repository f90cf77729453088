// Move: how one rank computes its results of a collective from the memory of all members.
#ifndef TILEWRIGHT_COLLECTIVE_MOVE_H
#define TILEWRIGHT_COLLECTIVE_MOVE_H

#include "tilewright/collective/Communicator.h"

#include <span>
#include <vector>

namespace tilewright::collective {

/// Checks that the shapes of a call fit its kind and a group of `members` ranks, so that the
/// functions below stay within the tensors.
///  - collectiveGroups (E6002)
///  - raggedRows (E6030)
Status checkCall(const Call &call, int64_t members);
/// The same for a ragged_all_to_all on devices, whose output offsets this rank has received
/// (DeviceCommunicator::enqueue). `rank` is for messages.
Status checkReceivedLists(const Call &call, int64_t members, int64_t rank);

/// The memory of all members, as one member sees it.
struct Party {
  const Call &own;
  size_t mine = 0, members = 1;
  /// Operands, and results of reduceShare(), by member m and tensor t: at [m * tensors + t].
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

// These functions compute the caller's results from the operands of all members. They reduce in
// group order, so all ranks get the same bits. For an all_reduce either every member calls
// reduceAll(), or there are two steps with a barrier between them: each member reduces its own
// share, then copies the shares of the other members.
void reduceAll(const Party &party);
/// `into[t]` points to the position where the whole result of tensor t would begin.
void reduceShare(const Party &party, std::span<std::byte *const> into);
void collectShares(const Party &party);
void gather(const Party &party);
void reduceScatter(const Party &party);
void allToAll(const Party &party);
/// - raggedRows (E6030): members disagree about the number of rows sent, or a row is out of bounds.
Status raggedAllToAll(const Party &party);
/// Copies the operand of member `from`; writes zeros if there is none. Skips null results.
void receive(const Party &party, std::optional<size_t> from);
/// Dispatches on the call's kind; computes an all_reduce with reduceAll(). For a permute, `source`
/// is its sourceOf().
///  - raggedRows (E6030)
Status exchange(const Party &party, std::optional<size_t> source);
/// sourceOf() returns the member whose operand member `mine` receives in a permute, targetOf() the
/// member that receives the operand of `mine`.
std::optional<size_t> sourceOf(const Call &call, std::span<const int64_t> clique, size_t mine);
std::optional<size_t> targetOf(const Call &call, std::span<const int64_t> clique, size_t mine);

/// Copies; uses non-temporal stores from 4 MiB on, because the target would not stay in a cache.
void copyBytes(std::byte *to, const std::byte *from, size_t bytes);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_MOVE_H
