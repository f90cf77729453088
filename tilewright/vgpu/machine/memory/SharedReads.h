// A log of reads of shared memory that are not reported one by one.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_SHAREDREADS_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_SHAREDREADS_H

#include <cstdint>

namespace tilewright::vgpu::machine {

struct Op;

/// A log that an observer provides for a block whose inner loops read shared memory too often for a
/// call per read. While the gate of a warp is open, its weak reads of the block's own memory below
/// `Gate::below` become records. A read that does not qualify, or does not fit into the log, is
/// reported as usual.
///
/// The observer owns the log; handlers only add records.
struct SharedReads {
  /// `rounds` reads by one warp, made by the operations op, op + step, op + 2 * step and so on.
  /// Each reads `ObserveForm::bytes` at `addresses` plus the offset in its form.
  struct Record {
    const Op *op;
    uint32_t mask;
    uint32_t warp; // in the block
    uint32_t epoch;
    uint16_t rounds, step;
    uint32_t addresses[32];
  };
  struct Gate {
    uint64_t openIn = 0; // the generation in which the gate is open
    uint32_t below = 0;
    uint32_t epoch = 0; // copied to the records of this warp
  };

  const Gate *gates = nullptr; // by warp
  uint64_t generation = 1;     // incrementing it closes all gates
  Record *next = nullptr, *end = nullptr;

  /// The gate of a warp; null if it is closed, or if the log has no room for `count` records.
  const Gate *openGate(uint32_t warp, uint32_t count) const {
    const Gate &gate = gates[warp];
    return gate.openIn == generation && end - next >= count ? &gate : nullptr;
  }
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_SHAREDREADS_H
