// From instructions to operations.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/Program.h"

#include <optional>
#include <span>

namespace tilewright::vgpu::machine {

struct DecodeOptions {
  bool observed = false;               // tell an observer about accesses
  bool counted = false;                // count how often each instruction is executed
  bool preempted = false;              // a warp's turn may end before any access or barrier
  bool deferred = false;               // asynchronous operations complete later than at once
  std::optional<const Run *> handlers; // of another instruction set than the host's best
};

/// Decodes `kernel` and all that it can call. `addresses` are those of the
/// module's variables in global and constant memory, by variable.
///  - vgpuUnimplemented: an instruction has no handler; the message names it and its line.
///  - vgpuSymbol: a function or variable is only declared.
///  - vgpuHost: the host's processor is too old.
Result<std::unique_ptr<Program>> decode(const ptx::Module &module, const ptx::Function &kernel,
                                        std::span<const uint64_t> addresses,
                                        const DecodeOptions &options);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_H
