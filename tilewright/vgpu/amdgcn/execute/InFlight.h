// Memory operations that were issued and have not been performed yet, and the counters that
// s_waitcnt waits for.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <deque>
#include <random>

namespace tilewright::vgpu::amdgcn {

/// When a memory operation is performed. The chip may do each of these.
enum class Completion : uint8_t {
  eager,  // when it is issued
  latest, // when a wait, or the end of the wave, requires it
  seeded, // at a point in between that the seed chooses
};

/// The operations of a wave that are in flight. A missing wait is an error: an instruction that
/// reads or writes a register that an operation in flight will write. Where the value goes through
/// LDS or memory, it is performed late, and the kernel computes wrong values.
///
/// Vector memory operations complete in order, and so do LDS operations; they use the registers as
/// they were at the issue. A wave whose operations are all eager has no such object.
class InFlight {
public:
  InFlight(Completion completion, uint64_t seed) : completion(completion), random(seed) {}

  /// Runs `op`, or puts it in flight if it is a memory operation.
  void execute(Wave &wave, const Op &op);
  /// Performs operations until at most so many of each counter are left.
  void wait(Wave &wave, size_t vectorCount, size_t localCount);
  void performAll(Wave &wave) { wait(wave, 0, 0); }

private:
  /// An operation with the registers that it was issued with.
  struct Issued {
    const Op *op = nullptr;
    unsigned counters = 1; // that still count it
    std::array<uint32_t, scalarSlots> scalars;
    std::vector<std::pair<uint16_t, VectorRegister>> vectors;
  };
  using Queue = std::deque<std::shared_ptr<Issued>>;

  Status checkRegisters(const Wave &wave, const Op &op) const;
  void issue(const Wave &wave, const Op &op);
  /// Removes the operation at `index` of a queue, and performs it if no other counter counts it.
  static void complete(Wave &wave, Queue &queue, size_t index);
  static void perform(Wave &wave, Issued &issued);
  void completeSome(Wave &wave);

  Completion completion;
  std::minstd_rand random;
  Queue vector, local, scalar;
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_INFLIGHT_H
