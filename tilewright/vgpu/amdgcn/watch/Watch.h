// Reports to a launch's observer what its waves do, as the same events that PTX kernels have.
//
// A workgroup is a block, and a wave is a warp whose lanes act together: the chip executes them in
// lockstep. Each memory operation is asynchronous. Only an s_waitcnt completes it, so a barrier
// orders only operations that were waited for.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_WATCH_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_WATCH_H

#include "tilewright/vgpu/amdgcn/execute/Memory.h"
#include "tilewright/vgpu/amdgcn/watch/Initialised.h"
#include "tilewright/vgpu/amdgcn/watch/Listing.h"
#include "tilewright/vgpu/amdgcn/watch/WaitStates.h"
#include "tilewright/vgpu/machine/Warp.h"

namespace tilewright::vgpu::amdgcn {

struct LaunchConfig;

/// An observed launch.
class LaunchWatch {
public:
  LaunchWatch(const LaunchConfig &config, const Listing &listing, uint32_t ldsBytes);
  ~LaunchWatch();
  LaunchWatch(const LaunchWatch &) = delete;
  LaunchWatch &operator=(const LaunchWatch &) = delete;

  machine::Grid grid;
  machine::Observer &observer;
  const Listing &listing;
};

/// An observed workgroup.
class GroupWatch {
public:
  GroupWatch(LaunchWatch &launch, Workgroup &workgroup, size_t waves);
  ~GroupWatch();
  GroupWatch(const GroupWatch &) = delete;
  GroupWatch &operator=(const GroupWatch &) = delete;

  /// All waves that have not ended continue after a barrier.
  void leaveBarrier(std::span<Wave> waves);

  LaunchWatch &launch;
  machine::Group group;
  uint64_t barriers = 0; // that were passed
};

/// An observed wave.
class WaveWatch {
public:
  WaveWatch(GroupWatch &group, size_t number)
      : group(group), warp(group.group.blocks[0].warps[number]) {}

  /// `scalarCount` scalar registers have values.
  void start(unsigned scalarCount) { initialised.start(scalarCount); }
  /// Called before each instruction.
  void execute(const Wave &wave, const Op &op) {
    waitStates.issue(*this, op, group.launch.listing.traitsOf(op));
    initialised.execute(*this, wave, op);
  }
  /// A memory operation is issued. Returns its id.
  machine::AsyncId issue(const Op &op);
  /// Accesses until end() belong to the operation.
  void begin(const Op &op, machine::AsyncId id);
  /// A lane accesses memory at an address, as observers see it. Returns where the lane must read or
  /// write: stores are performed at the end, after the observer has seen their values.
  std::byte *access(const Op &op, unsigned lane, uint64_t address, unsigned bytes,
                    std::byte *memory);
  void end();
  /// The wave has waited for these operations.
  void wait(const Op &op, std::span<const machine::AsyncId> operations);
  /// A cache was written back or invalidated. This orders the wave's accesses with accesses of
  /// other workgroups that atomic operations release and acquire.
  void fence(const Op &op);
  void arriveAtBarrier(const Op &op);
  void useInFlight(const Op &op, unsigned slot, machine::AsyncId operation);
  void reportHazard(const Op &op, machine::HazardKind kind, const Op *other, std::string message,
                    std::string fix);

private:
  /// A part of a lane's access: consecutive bytes.
  struct Piece {
    unsigned lane, bytes;
    uint64_t address;
    machine::AccessKind kind;
    std::byte *memory;
    std::array<std::byte, 16> stored;
    bool isReported;
  };
  void report(size_t first);
  machine::Observer &observer() const { return group.launch.observer; }
  const machine::Op *place(const Op &op) const { return group.launch.listing.opOf(op); }

  GroupWatch &group;
  machine::Warp &warp;
  const Op *current = nullptr;
  machine::AsyncId currentId = 0;
  std::vector<Piece> pieces;
  WaitStates waitStates;
  Initialised initialised;
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_WATCH_WATCH_H
