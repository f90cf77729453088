// Memory operations that were issued and have not been waited for yet, and the counters that
// s_waitcnt waits for.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <bitset>
#include <deque>
#include <random>

namespace tilewright::vgpu::amdgcn {

/// When a memory operation is performed. The chip may do each of these.
enum class Completion : uint8_t {
  eager,  // when it is issued
  latest, // when a wait, or the end of the wave, requires it
  seeded, // at a point in between that the seed chooses
};

/// The operations of a wave that are in flight: until a wait covers them, whether they were
/// performed or not. A missing wait is an error: an instruction that reads or writes a register
/// that an operation in flight writes. Where the value goes through LDS or memory, it may be
/// performed late, and the kernel computes wrong values.
///
/// Vector memory operations complete in order, and so do LDS operations; they use the registers as
/// they were at the issue. A wave whose operations are all eager, and that has no observer, has no
/// such object.
class InFlight {
public:
  InFlight(Completion completion, uint64_t seed) : completion(completion), random(seed) {}

  /// Runs `op`, or puts it in flight if it is a memory operation.
  void execute(Wave &wave, const Op &op);
  /// Completes operations until at most so many of each counter are left. `op` is the wait.
  void wait(Wave &wave, const Op &op, size_t vectorCount, size_t localCount);
  /// Performs all operations, as some time does. They stay in flight.
  void performAll(Wave &wave);

private:
  /// An operation with the registers that it was issued with.
  struct Issued {
    const Op *op = nullptr;
    uint64_t id = 0;       // for the observer
    unsigned counters = 1; // that still count it
    bool isPerformed = false;
    std::array<uint32_t, scalarSlots> scalars;
    std::vector<std::pair<uint16_t, VectorRegister>> vectors;
  };
  using Queue = std::deque<std::shared_ptr<Issued>>;

  struct Use {
    const Slot &slot;
    bool writes;
  };
  const Issued *find(const Op &op, const Use &use) const;
  Status checkRegisters(const Wave &wave, const Op &op) const;
  Status reportUse(const Wave &wave, const Op &op, const Use &use, const Issued &issued) const;
  void issue(Wave &wave, const Op &op);
  /// Removes the oldest operation of a queue. It is complete if no other counter counts it.
  void complete(Wave &wave, Queue &queue, size_t index);
  void perform(Wave &wave, Issued &issued);
  void performSome(Wave &wave);
  void setWritten();

  Completion completion;
  std::minstd_rand random;
  Queue vector, local, scalar;
  std::vector<uint64_t> completed; // that the observer has not heard of
  const Op *writeBack = nullptr;   // the last one of them that wrote a cache back
  /// The registers that operations in flight write: vector ones, then scalar ones.
  std::bitset<vectorSlots + scalarSlots> written;
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H
