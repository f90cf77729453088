// The state that instructions read and write: a wave of 64 lanes, and the workgroup it belongs to.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_WAVE_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_WAVE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/amdgcn/Table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tilewright::vgpu::amdgcn {

class InFlight;
class WaveWatch;
class Program;

inline constexpr unsigned laneCount = 64;
/// One bit for each lane.
using LaneMask = uint64_t;

/// A vector register: one dword for each lane.
struct alignas(64) VectorRegister {
  std::array<uint32_t, laneCount> lanes;
};

// Scalar registers, indexed by the operand code, so that EXEC, VCC and M0 are registers like any
// other.
inline constexpr unsigned vccSlot = 106, m0Slot = 124, execSlot = 126, scalarSlots = 128;
// VGPRs, then AGPRs.
inline constexpr unsigned firstAgprSlot = 256, vectorSlots = 512;

/// A range of addresses that a kernel may access.
struct MemoryRange {
  uint64_t begin = 0, end = 0;
};

/// The parts of a launch that all waves share.
struct Dispatch {
  const Program *program = nullptr;
  std::span<const MemoryRange> memory;            // empty: every address of the host is valid
  bool flushes32 = false, flushes16And64 = false; // denormals of f32; of f16 and f64
  uint32_t scratchBytesPerLane = 0;

  bool mayAccess(uint64_t address, uint64_t bytes) const;
};

struct Workgroup {
  const Dispatch *dispatch = nullptr;
  std::array<uint32_t, 3> id{};
  std::vector<std::byte> lds;
};

enum class WaveState : uint8_t { running, atBarrier, ended, failed };

// Addresses of the flat segment with these upper halves are in LDS and scratch. No user address of
// the host has them; `src_shared_base` and `src_private_base` return them.
inline constexpr uint64_t ldsAperture = 0x0100000000000000u, scratchAperture = 0x0200000000000000u;

struct Wave {
  std::unique_ptr<VectorRegister[]> vectors = std::make_unique<VectorRegister[]>(vectorSlots);
  std::array<uint32_t, scalarSlots> scalars{};
  bool scc = false;
  WaveState state = WaveState::running;
  uint32_t pc = 0;       // the number of the next operation of the program
  uint32_t branches = 0; // taken since the scheduler chose this wave
  unsigned number = 0;   // in the workgroup
  Workgroup *group = nullptr;
  InFlight *inFlight = nullptr;   // null: memory operations are performed when they are issued
  WaveWatch *watch = nullptr;     // null: the launch has no observer; else inFlight is set
  std::vector<std::byte> scratch; // one lane after the other
  Status failure;                 // if state is failed

  uint64_t scalar64(unsigned slot) const {
    return scalars[slot] | uint64_t(scalars[slot + 1]) << 32;
  }
  void setScalar64(unsigned slot, uint64_t value) {
    scalars[slot] = static_cast<uint32_t>(value);
    scalars[slot + 1] = static_cast<uint32_t>(value >> 32);
  }
  LaneMask exec() const { return scalar64(execSlot); }
  LaneMask vcc() const { return scalar64(vccSlot); }
  const Dispatch &dispatch() const { return *group->dispatch; }
  void fail(Status status) {
    failure = std::move(status);
    state = WaveState::failed;
  }
};

/// Calls `function(lane)` for the lanes of a mask.
template <typename Function> void forLanes(LaneMask mask, Function function) {
  for (; mask != 0; mask &= mask - 1)
    function(static_cast<unsigned>(__builtin_ctzll(mask)));
}

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_WAVE_H
