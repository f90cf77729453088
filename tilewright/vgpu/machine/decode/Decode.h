// Decodes instructions into operations.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_DECODE_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_DECODE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <optional>
#include <span>

namespace tilewright::vgpu::machine {

struct DecodeOptions {
  bool observed = false;                   // tell an observer about accesses
  bool counted = false;                    // count how often each instruction is executed
  bool preempted = false;                  // a warp may be preempted before any access or barrier
  bool deferred = false;                   // asynchronous operations complete later than at issue
  std::optional<const Run *> handlers;     // to use another host instruction set than the best
  uint32_t sharedLimit = sharedOffsetMask; // bytes of static shared memory
};

/// Decodes `kernel` and all functions that it can call. `addresses` holds, by variable, the
/// addresses of the module's variables in global and constant memory.
///  - vgpuUnimplemented: an instruction has no handler; the message names it and its line.
///  - vgpuSymbol: a function or variable is only declared.
///  - ptxVariable: the kernel has more static shared memory than the limit.
///  - vgpuHost: the host's CPU is too old.
Result<std::unique_ptr<Program>> decode(const ptx::Module &module, const ptx::Function &kernel,
                                        std::span<const uint64_t> addresses,
                                        const DecodeOptions &options);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_DECODE_H
