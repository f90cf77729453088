// Immediates for which LLVM's assembler has symbolic names.
#ifndef TILEWRIGHT_VGPU_AMDGCN_PRINTIMMEDIATE_H
#define TILEWRIGHT_VGPU_AMDGCN_PRINTIMMEDIATE_H

#include <cstdint>
#include <string>

namespace tilewright::vgpu::amdgcn {

std::string hexOf(uint64_t value);
std::string waitcntText(uint32_t value);
std::string messageText(uint32_t value);
std::string hwregText(uint32_t value);
std::string gprIndexText(uint32_t value);
/// The pattern of ds_swizzle_b32, without "offset:".
std::string swizzleText(uint32_t value);
/// The format of a typed buffer, after a space; empty for the default.
std::string formatText(uint32_t value);
/// quad_perm:[…], row_shr:1, …
std::string dppText(uint32_t pattern);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_PRINTIMMEDIATE_H
