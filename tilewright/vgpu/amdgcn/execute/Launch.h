// Runs a kernel of a code object.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_LAUNCH_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_LAUNCH_H

#include "tilewright/support/ThreadPool.h"
#include "tilewright/vgpu/amdgcn/execute/InFlight.h"
#include "tilewright/vgpu/amdgcn/execute/Program.h"
#include "tilewright/vgpu/machine/HostOrder.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <atomic>
#include <chrono>

namespace tilewright::vgpu::amdgcn {

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1}; // in workgroups
  std::array<uint32_t, 3> block{64, 1, 1};
  uint32_t dynamicLdsBytes = 0;
  /// Scratch of a lane in addition to what the kernel declares, for calls of functions whose stack
  /// size is unknown when the kernel is compiled.
  uint32_t dynamicStackBytes = 16 << 10;
  /// The memory that the kernel may access, besides its arguments and its code object, in any
  /// order. Empty: all memory of the host.
  std::vector<MemoryRange> memory = {};
  /// When memory operations are performed; with `seeded`, the seed chooses.
  Completion completion = Completion::eager;
  uint64_t seed = 0;
  /// Ends the launch after this many branches of a workgroup during which no wave ended and none
  /// reached a barrier. 0: no limit.
  uint64_t maxBranches = uint64_t(1) << 32;
  /// Ends the launch after this time; 0: never.
  std::chrono::nanoseconds timeLimit{0};
  /// Ends the launch when it becomes true; null: never.
  const std::atomic<bool> *stop = nullptr;
  /// Runs workgroups on the threads of the pool; null: one after the other on this thread.
  ThreadPool *pool = nullptr;
  /// Sees accesses and waits, such as a check::Checker; must outlive the launch. Null: none.
  machine::Observer *observer = nullptr;
  /// For observers that compare launches; null: launches happen one after the other.
  std::shared_ptr<const machine::HostOrder> order = nullptr;
  int device = -1; // the number of the device, for observers; -1: unknown
};

/// Runs a kernel to its end. `arguments` are the bytes of its explicit arguments, laid out as the
/// metadata says; hidden arguments are added here. An observer hears of missing waits and goes on;
/// without one they end the launch.
///
///  - vgpuSymbol, vgpuUnimplemented, vgpuBinary: see LoadedObject::program.
///  - vgpuLaunch: sizes that the kernel or the chip cannot have.
///  - vgpuTimeout: `timeLimit` or `stop` ended the launch.
///  - vgpuAccess, vgpuFault, vgpuLivelock: an error in the kernel. A missing wait is a vgpuFault if
///    operations are not eager.
Status launch(LoadedObject &object, std::string_view kernel, const LaunchConfig &config,
              std::span<const std::byte> arguments);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_LAUNCH_H
