// The address spaces of the machine as one flat 64-bit space.
//
// Global and constant memory, and the parameters of a kernel, are host memory at their host
// addresses. Bits 56 to 63 select the windows of shared and local memory, which are outside of all
// user addresses of the host.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORY_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORY_H

#include <cstdint>

namespace tilewright::vgpu::machine {

inline constexpr uint64_t windowMask = 0xff00000000000000u;
inline constexpr uint64_t sharedWindow = 0x0100000000000000u;
inline constexpr uint64_t localWindow = 0x0200000000000000u;
/// The address of a function: this window, combined with the function's symbol.
inline constexpr uint64_t functionWindow = 0x0300000000000000u;

/// A shared memory address is an offset into the block's own memory. With `rank + 1` in bits 24 to
/// 31, it is an offset into the memory of another block of the cluster. In PTX such addresses are
/// opaque and only mapa creates them.
inline constexpr uint32_t sharedOffsetBits = 24;
inline constexpr uint32_t sharedOffsetMask = (1u << sharedOffsetBits) - 1;
constexpr uint32_t sharedAddress(uint32_t rank, uint32_t offset) {
  return (rank + 1) << sharedOffsetBits | (offset & sharedOffsetMask);
}

/// Observers see a block's tensor memory at this offset after its shared memory: lane by lane, with
/// four bytes for each column.
inline constexpr uint32_t tensorOffset = 1u << 19, tensorLanes = 128, tensorColumns = 512;
inline constexpr uint32_t tensorBytes = 4 * tensorLanes * tensorColumns;

enum class Space : uint8_t { generic, global, shared, local, constant, param };

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORY_H
