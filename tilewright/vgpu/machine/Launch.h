// Runs a kernel on the virtual GPU.
#ifndef TILEWRIGHT_VGPU_MACHINE_LAUNCH_H
#define TILEWRIGHT_VGPU_MACHINE_LAUNCH_H

#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"
#include "tilewright/vgpu/machine/Completion.h"
#include "tilewright/vgpu/machine/LoadedModule.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <array>
#include <span>

namespace tilewright::vgpu::machine {

/// How tensor-core instructions compute: products are exact in both. `exact`
/// rounds the sum once; `hopper` aligns to the largest and cuts off, as measured
/// on that chip.
enum class Arithmetic : uint8_t { exact, hopper };

struct LaunchConfig {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<uint32_t, 3> cluster{0, 0, 0}; // 0: what the kernel says, else one block
  uint32_t dynamicSharedBytes = 0;
  bool cooperative = false; // all blocks are resident at once
  Arithmetic arithmetic = Arithmetic::exact;
  Completion completion = Completion::eager;
  uint64_t seed = 0; // not 0: the order of warps is random too
  /// Backward branches of the warps of a group of resident blocks, none of which ends
  /// a wait or a thread, after which they are taken to spin forever. 0: never.
  uint64_t maxSteps = uint64_t(1) << 32;
  /// Accesses to memory that is not mapped fail the launch instead of ending the process,
  /// by handlers of SIGSEGV and SIGBUS.
  bool catchesFaults = false;
  Observer *observer = nullptr;         // outlives the launch
  ThreadPool *pool = nullptr;           // runs on the caller alone without one
  std::string_view instructionSet = {}; // of the host, "v3" or "v4"; the best one if empty
};

/// Runs kernel `name` of `module` to its end. `arguments` point to one value for
/// each parameter, as cuLaunchKernel takes them; pointers among them are
/// addresses of the host.
///
///   float *a = …, *b = …;
///   int n = 1000;
///   LaunchConfig config{.grid = {4, 1, 1}, .block = {256, 1, 1}};
///   const void *arguments[] = {&a, &b, &n};
///   TILEWRIGHT_TRY(launch(*module, "scale", config, arguments));
///
///  - vgpuSymbol: there is no such kernel.
///  - vgpuLaunch: a size is beyond the chip or not what the kernel asks for.
///  - vgpuAccess, vgpuBarrier, vgpuFault, vgpuDeadlock, vgpuLivelock: what threads did wrong.
///    Memory that was written before stays written.
Status launch(LoadedModule &module, std::string_view name, const LaunchConfig &config,
              std::span<const void *const> arguments);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_LAUNCH_H
