// Runs a kernel on the virtual GPU.
#ifndef TILEWRIGHT_VGPU_MACHINE_LAUNCH_H
#define TILEWRIGHT_VGPU_MACHINE_LAUNCH_H

#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"
#include "tilewright/vgpu/machine/LoadedModule.h"
#include "tilewright/vgpu/machine/Observer.h"
#include "tilewright/vgpu/machine/Warp.h"

#include <array>
#include <atomic>
#include <chrono>
#include <span>

namespace tilewright::vgpu::machine {

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<uint32_t, 3> cluster{0, 0, 0}; // 0: as declared by the kernel, else one block
  uint32_t dynamicSharedBytes = 0;
  bool cooperative = false; // all blocks are resident at the same time
  Arithmetic arithmetic = Arithmetic::exact;
  Completion completion = Completion::eager;
  uint64_t seed = 0; // not 0: the order of warps is random, too
  /// The limit for livelock detection: the number of backward branches by the warps of a group of
  /// resident blocks during which no wait ends and no thread exits. 0: no limit.
  uint64_t maxSteps = uint64_t(1) << 32;
  /// Makes accesses to unmapped memory fail the launch instead of ending the process. Installs
  /// handlers for SIGSEGV and SIGBUS.
  bool catchesFaults = false;
  /// Restricts kernels to live allocations (see Allocations.h); otherwise they can access all host
  /// memory.
  bool checksAddresses = false;
  Accessor accessor = {}; // with checksAddresses: the device whose memory the kernel uses
  /// For observers that compare launches; null: launches run one after the other.
  std::shared_ptr<const HostOrder> order = nullptr;
  /// With checksAddresses: invalid accesses have no effect, and the launch continues to its end and
  /// then fails, so that an observer sees all of them.
  bool suppressesInvalid = false;
  /// The launch is stopped within a few milliseconds after this time (0: never), or after `stop`
  /// becomes true. The failure reports where the warps were.
  std::chrono::steady_clock::duration timeLimit{0};
  const std::atomic<bool> *stop = nullptr;
  Observer *observer = nullptr;         // must outlive the launch
  ThreadPool *pool = nullptr;           // without one, the calling thread runs the kernel
  std::string_view instructionSet = {}; // of the host, "v3" or "v4"; empty: the best one
};

/// Runs kernel `name` of `module` to completion. `arguments` point to one value for each parameter,
/// as for cuLaunchKernel; pointers among them are host addresses.
///
///   float *a = …, *b = …;
///   int n = 1000;
///   LaunchConfig config{.grid = {4, 1, 1}, .block = {256, 1, 1}};
///   const void *arguments[] = {&a, &b, &n};
///   TILEWRIGHT_TRY(launch(*module, "scale", config, arguments));
///
///  - vgpuSymbol: the module has no such kernel.
///  - vgpuLaunch: a size exceeds the chip's limits or does not match the kernel's requirements.
///  - vgpuAccess, vgpuBarrier, vgpuFault, vgpuDeadlock, vgpuLivelock: an error in the kernel.
///  - vgpuTimeout, vgpuInterrupted: the launch was stopped. Memory keeps the values that were
///    written before.
Status launch(LoadedModule &module, std::string_view name, const LaunchConfig &config,
              std::span<const void *const> arguments);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_LAUNCH_H
