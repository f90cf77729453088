// Functions that device code calls and that no module defines; the CUDA toolkit calls them system
// calls.
#ifndef TILEWRIGHT_VGPU_MACHINE_EXTERNS_H
#define TILEWRIGHT_VGPU_MACHINE_EXTERNS_H

#include "tilewright/vgpu/machine/External.h"

#include <atomic>
#include <optional>
#include <string_view>

namespace tilewright::vgpu::machine {

enum class Extern : uint8_t { vprintf, assertFail, malloc, free, setConditional };

/// The system call with this name, if there is one.
std::optional<Extern> externOf(std::string_view name);
/// The number of arguments and results.
struct ExternSignature {
  size_t arguments = 0, results = 0;
};
ExternSignature signatureOf(Extern which);

struct ExternForm {
  ExternalForm head;
  Extern which = Extern::vprintf;
  CallSite site;
};
/// Executes the call for one lane after the other, in the order of their numbers.
After runExtern(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// Sets the value behind the handle of a graph's conditional node; false if there is none. A driver
/// with conditional nodes sets this function before the first launch that may call it.
using ConditionalSetter = bool(uint64_t handle, uint32_t value);
extern std::atomic<ConditionalSetter *> conditionalSetter;

/// The size of the heap for malloc in kernels: the default of cudaLimitMallocHeapSize. When the
/// heap is exhausted, malloc returns null.
inline constexpr size_t deviceHeapBytes = size_t(8) << 20;

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_EXTERNS_H
