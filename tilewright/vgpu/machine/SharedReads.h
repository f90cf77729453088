// Reads of shared memory that are written down instead of told one by one.
#ifndef TILEWRIGHT_VGPU_MACHINE_SHAREDREADS_H
#define TILEWRIGHT_VGPU_MACHINE_SHAREDREADS_H

#include <cstdint>

namespace tilewright::vgpu::machine {

struct Op;

/// What an observer has for a block whose inner loops read shared memory more often than
/// anybody can be called: while the gate of a warp is open, its weak reads of the block's
/// own memory below `Gate::below` become records here. A read that does not fit, or for
/// which there is no room, is told as always.
///
/// The observer owns all of it; handlers only add records.
struct SharedReads {
  /// `rounds` reads by one warp, of `ObserveForm::bytes` each from the addresses plus
  /// the offset of the form: those of op, op + step, op + 2 * step, ...
  struct Record {
    const Op *op;
    uint32_t mask;
    uint32_t warp; // in the block
    uint32_t epoch;
    uint16_t rounds, step;
    uint32_t addresses[32];
  };
  struct Gate {
    uint64_t openIn = 0; // the generation in which it is open
    uint32_t below = 0;
    uint32_t epoch = 0; // what records of this warp are to say
  };

  const Gate *gates = nullptr; // by warp
  uint64_t generation = 1;     // counting it up closes all gates
  Record *next = nullptr, *end = nullptr;

  /// The gate of a warp, if it is open and there is room for `count` records.
  const Gate *openGate(uint32_t warp, uint32_t count) const {
    const Gate &gate = gates[warp];
    return gate.openIn == generation && end - next >= count ? &gate : nullptr;
  }
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_SHAREDREADS_H
