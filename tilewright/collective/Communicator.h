// Communicator: one rank's side of the collectives of a run.
#ifndef TILEWRIGHT_COLLECTIVE_COMMUNICATOR_H
#define TILEWRIGHT_COLLECTIVE_COMMUNICATOR_H

#include "tilewright/collective/Reduction.h"
#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::collective {

using numerics::ElementType;

enum class Kind : uint8_t {
  allReduce,
  allGather,
  reduceScatter,
  allToAll,
  permute,
  broadcast,
  raggedAllToAll,
  barrier,
};
/// "all_reduce" and so on; nothing for a name that is none.
std::optional<Kind> kindNamed(std::string_view name);
std::string_view nameOf(Kind kind);

/// One tensor that goes in and the one that comes out.
struct Tensor {
  ElementType element = ElementType::f32;
  std::vector<int64_t> inDims, outDims;
  const std::byte *in = nullptr;
  std::byte *out = nullptr; // may be `in` for all_reduce only; else they do not overlap
};

/// One collective as one rank calls it. What `groups` and `dimension` mean is StableHLO's.
struct Call {
  Kind kind = Kind::allReduce;
  /// The place in the order that all ranks of the clique share; checked to be equal.
  uint32_t order = 0;
  /// Groups of ranks; for permute, pairs {source, target}. Must outlive the call's end.
  const std::vector<std::vector<int64_t>> *groups = nullptr;
  std::vector<Tensor> tensors;
  int64_t dimension = 0;      // all_gather, reduce_scatter; all_to_all: where results are joined
  int64_t splitDimension = 0; // all_to_all
  Reduction reduction;        // all_reduce, reduce_scatter
  /// ragged_all_to_all: four lists of equally many numbers, one after the other: offsets and sizes
  /// of the rows of `in` to send, where they begin in the `out` of whoever gets them, and how many
  /// rows come. The entries of a list are shared out evenly among the members of the group, in its
  /// order. Rows that nobody sends keep what `out` had. Must outlive the call's end.
  std::span<const int64_t> ragged;
  std::string_view name;  // for messages and timelines: "all_reduce.3"
  std::string_view place; // where it comes from: "train.py:41"; may be empty
  /// If not zero: calls of a process with the same number differ in nothing but pointers to their
  /// tensors. So what was found out about one need not be looked at again.
  uint64_t identity = 0;
  /// How long finish() waits for the others; zero: as long as the engine is set to.
  std::chrono::nanoseconds patience{0};
};

/// What a rank uses during one run. Only its own thread calls it.
///
/// start() announces and never blocks, so ranks may begin collectives of
/// different cliques in different orders; finish() waits for the others. The
/// operands must stay as they are, and the results must not be read, between: until finish() has
/// returned or, if it is never called, until the communicator is destroyed.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;
  /// Ranks of the run.
  virtual int64_t size() const = 0;

  using Ticket = uint64_t;
  /// - collectiveGroups (E6002): ranks that do not exist, or one in two groups.
  virtual Result<Ticket> start(const Call &call) = 0;
  /// - collectiveStuck (E6001): somebody did not come in time; says who waits where.
  /// - collectiveAborted (E6003): another rank failed or left.
  /// - collectiveMismatch (E6004): ranks came to one place with different calls.
  virtual Status finish(Ticket ticket) = 0;

  /// Ends the run for all ranks. When this returns nobody touches this rank's memory any more.
  virtual void abandon(const Status &why) = 0;

  /// Both at once: nothing is copied, and no other thread is asked to help.
  virtual Status run(const Call &call) {
    TILEWRIGHT_ASSIGN(Ticket ticket, start(call));
    return finish(ticket);
  }
};

/// One rank's place in a run.
struct Seat {
  int64_t run = 0; // the same number for all ranks of the run; numbers go up
  int64_t rank = 0, ranks = 1;
  /// The engine's rank behind each rank of the run; empty: the same numbers.
  std::vector<int64_t> members;
};

/// Where ranks meet: within a process, a host, or between hosts. Thread-safe.
class Engine {
public:
  virtual ~Engine() = default;
  /// Cheap, and asks nobody: a run is made of its ranks' calls alone.
  virtual Result<std::unique_ptr<Communicator>> join(const Seat &seat) = 0;
  /// Fails for good, as if a rank had: somebody else knows that one will not come. Does not wait
  /// for those in a collective, who end with this reason at once. Nothing to do for an engine whose
  /// ranks are all in this process.
  virtual void revoke(const std::string &why) {}
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_COMMUNICATOR_H
