// Advances the operations of a batch until all are done.
#ifndef TILEWRIGHT_VGPU_NCCL_PROGRESS_H
#define TILEWRIGHT_VGPU_NCCL_PROGRESS_H

#include "tilewright/vgpu/nccl/Batch.h"

namespace tilewright::vgpu::nccl {

/// One execution of a batch, on the thread of its stream. Data move only through the board: a rank
/// never accesses another rank's device memory, which the owner may free after an abort.
class Progress {
public:
  Progress(Comm &comm, std::span<const Operation> operations);
  /// Returns a CUresult: CUDA_ERROR_LAUNCH_TIMEOUT if the time limit passed. If the communicator is
  /// aborted or revoked, the results are undefined, as with NCCL.
  int run();

private:
  /// A collective proceeds in steps: all ranks fill their staging memory, reduce a part, drain.
  struct Collective {
    const Operation *operation;
    enum class Stage : uint8_t {
      begin,
      announced,
      fill,
      filled,
      reduced,
      done
    } stage = Stage::begin;
    size_t offset = 0; // elements done
  };
  struct Message {
    const Operation *operation;
    uint64_t number; // between these two ranks, in this direction
    enum class Stage : uint8_t { begin, announced, transfer, done } stage = Stage::begin;
    size_t offset = 0; // bytes done
  };

  /// Each returns whether something changed.
  bool advance(Collective &collective);
  /// The peer has arrived: continues if both ranks agree on count and type.
  bool beginTransfer(Message &now, const CallRecord &theirs);
  template <typename Copy, typename Finish>
  bool transferChunk(Message &now, bool isBlocked, Copy copy, Finish finish);
  bool advanceSend(Message &message);
  bool advanceReceive(Message &message);

  bool haveAll(std::atomic<uint64_t> RankSlot::*counter, uint64_t value) const;
  /// The number of elements of each block that a step moves.
  size_t stepElements(const Operation &operation) const;
  void fill(const Operation &operation, size_t offset, size_t elements);
  void reduceShare(const Operation &operation, size_t elements);
  void drain(const Operation &operation, size_t offset, size_t elements);
  /// Multiplies elements by the factor of the operation, or by 1/n for an average.
  void scale(const Operation &operation, std::byte *elements, size_t count);
  /// For the race checker: the key under which ranks exchange what happened before, and the number
  /// of ranks of this process that learn it.
  uint64_t meetingOf(uint64_t from, uint64_t to, uint64_t number) const;
  unsigned learnersOf(const Operation &operation) const;
  /// Reports that two ranks made different calls; the operation then never ends.
  void noteMismatch(const CallRecord &own, int other, const CallRecord &theirs);
  std::string describe(std::span<const Collective> collectives,
                       std::span<const Message> messages) const;

  Comm &comm;
  Board &board;
  std::vector<Collective> collectives;
  std::vector<Message> messages;
  std::vector<std::byte> factors; // for scale()
  bool isMismatched = false;
};

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_PROGRESS_H
