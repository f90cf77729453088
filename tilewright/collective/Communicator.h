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

using Kind = numerics::CollectiveKind;

/// One operand and its result.
struct Tensor {
  ElementType element = ElementType::f32;
  std::vector<int64_t> inDims, outDims;
  const std::byte *in = nullptr;
  std::byte *out = nullptr; // may be `in` for all_reduce only; else they do not overlap
};

/// One collective as one rank calls it. StableHLO defines the meaning of `groups` and `dimension`.
struct Call {
  Kind kind = Kind::allReduce;
  /// The position in the program order that all ranks of the clique share; the engine checks that
  /// all members pass the same value.
  uint32_t order = 0;
  /// Groups of ranks; for permute, pairs {source, target}. Must outlive the collective.
  const std::vector<std::vector<int64_t>> *groups = nullptr;
  std::vector<Tensor> tensors;
  int64_t dimension = 0;      // all_gather, reduce_scatter; all_to_all: where results are joined
  int64_t splitDimension = 0; // all_to_all
  Reduction reduction;        // all_reduce, reduce_scatter
  /// ragged_all_to_all: four lists of the same length, one after the other: input offsets and send
  /// sizes (in rows of `in`), output offsets (rows of the receiver's `out`), and receive sizes.
  /// Each list is divided evenly among the members of the group, in the group's order. Rows of
  /// `out` that no member sends keep their value. Must outlive the collective.
  std::span<const int64_t> ragged;
  std::string_view name;  // for messages and timelines: "all_reduce.3"
  std::string_view place; // source location: "train.py:41"; may be empty
  /// If not zero, two calls of this process with the same identity differ only in their tensors'
  /// pointers, so an engine may cache what it derives from a call.
  uint64_t identity = 0;
  /// Timeout of finish(); zero: the engine's default.
  std::chrono::nanoseconds timeout{0};
};

/// One rank's communicator for one run. Only the rank's own thread may call it.
///
/// start() announces the collective and never blocks, so ranks may start collectives of different
/// cliques in different orders; finish() waits for the other members. The caller must not change
/// the operands, nor read the results, until finish() returns or, if it is never called, until the
/// communicator is destroyed.
class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;
  /// The number of ranks in the run.
  virtual int64_t size() const = 0;

  using Ticket = uint64_t;
  /// - collectiveGroups (E6002): a group names a rank that does not exist, or a rank is in two
  ///   groups.
  virtual Result<Ticket> start(const Call &call) = 0;
  /// - collectiveStuck (E6001): a member did not join before the timeout; the message states where
  ///   each rank waits.
  /// - collectiveAborted (E6003): another rank failed or left.
  /// - collectiveMismatch (E6004): members called different collectives at the same position.
  virtual Status finish(Ticket ticket) = 0;

  /// Aborts the run for all ranks. After this returns, no other rank accesses this rank's memory.
  virtual void abandon(const Status &why) = 0;

  /// start() and finish() in one call. Engines may override it, to avoid copying the call and
  /// waking their progress thread.
  virtual Status run(const Call &call) {
    TILEWRIGHT_ASSIGN(Ticket ticket, start(call));
    return finish(ticket);
  }
};

/// One rank's membership in a run.
struct RunMembership {
  int64_t run = 0; // the same number for all ranks of the run; later runs have larger numbers
  int64_t rank = 0, ranks = 1;
  /// The engine's rank for each rank of the run; empty if run and engine number their ranks alike.
  std::vector<int64_t> members;
};

/// Memory whose tensors an engine's collectives read and write in place. Thread-safe. Blocks may
/// outlive the engine, but not this object.
class OperandMemory {
public:
  virtual ~OperandMemory() = default;
  /// A block aligned to 64 bytes; null if none is free.
  virtual std::byte *take(size_t bytes) = 0;
  /// Returns a block. The pages of a large one go back to the system at once.
  virtual void give(std::byte *block) = 0;
};

/// A transport for collectives: within a process, within a host, or between hosts. Thread-safe.
class Engine {
public:
  virtual ~Engine() = default;
  /// Joins a run. Cheap, and does not communicate; ranks synchronise only in collectives.
  virtual Result<std::unique_ptr<Communicator>> join(const RunMembership &own) = 0;
  /// Fails the engine for good, because the caller knows that a rank will never join. Ranks in a
  /// collective return with this reason at once; revoke() does not wait for them. Does nothing if
  /// all ranks of the engine are in this process.
  virtual void revoke(const std::string &why) {}
  /// Null if tensors at any address are alike to this engine.
  virtual std::shared_ptr<OperandMemory> operandMemory() { return nullptr; }
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_COMMUNICATOR_H
