// Functions that a device program calls and that no module defines: what the CUDA
// toolkit lists under system calls.
#ifndef TILEWRIGHT_VGPU_MACHINE_EXTERNS_H
#define TILEWRIGHT_VGPU_MACHINE_EXTERNS_H

#include "tilewright/vgpu/machine/External.h"

#include <optional>
#include <string_view>

namespace tilewright::vgpu::machine {

enum class Extern : uint8_t { vprintf, assertFail, malloc, free };

/// The one that a name stands for, if it is one.
std::optional<Extern> externOf(std::string_view name);
/// How many values it takes and gives.
struct ExternSignature {
  size_t arguments = 0, results = 0;
};
ExternSignature signatureOf(Extern which);

struct ExternForm {
  ExternalForm head;
  Extern which = Extern::vprintf;
  CallSite site;
};
/// Lanes call one after the other, in their order.
After runExtern(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// Bytes that kernels may have taken by malloc at one time, as
/// cudaLimitMallocHeapSize has it by default; more gives null.
inline constexpr size_t deviceHeapBytes = size_t(8) << 20;

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_EXTERNS_H
