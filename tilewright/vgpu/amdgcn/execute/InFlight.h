// Memory operations that were issued but not yet waited for, and the counters that s_waitcnt waits
// for.
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

/// A wave's operations in flight: each stays here until a wait covers it, whether or not it was
/// performed. An instruction that reads or writes a register that an operation in flight writes is
/// an error: a wait is missing. If the value goes through LDS or memory instead, the operation may
/// be performed late, and the kernel computes wrong values.
///
/// Vector memory operations complete in order, and so do LDS operations; they use the registers as
/// they were at the issue. A wave whose operations are all eager, and that has no observer, needs
/// no such object.
class InFlight {
public:
  InFlight(Completion completion, uint64_t seed) : completion(completion), random(seed) {}

  /// Runs `op`, or puts it in flight if it is a memory operation.
  void execute(Wave &wave, const Op &op);
  /// Completes operations until at most the given number is left for each counter. `op` is the
  /// wait.
  void wait(Wave &wave, const Op &op, size_t vectorCount, size_t localCount);
  /// Performs all operations, as the chip may at any time. They stay in flight.
  void performAll(Wave &wave);

private:
  /// An operation with a copy of the registers at its issue.
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
  /// The registers that operations in flight write: first the vector registers, then the scalar
  /// ones.
  std::bitset<vectorSlots + scalarSlots> written;
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H
