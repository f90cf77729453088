// The address spaces of the machine as one flat space of 64 bits.
//
// Global and constant memory, and the parameters of a kernel, are memory of the
// host under its own addresses. The windows of shared and local memory lie where
// no user address of the host can: bits 56 to 63 name them.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_H

#include <cstdint>

namespace tilewright::vgpu::machine {

inline constexpr uint64_t windowMask = 0xff00000000000000u;
inline constexpr uint64_t sharedWindow = 0x0100000000000000u;
inline constexpr uint64_t localWindow = 0x0200000000000000u;
/// What the address of a function looks like: the window and its symbol.
inline constexpr uint64_t functionWindow = 0x0300000000000000u;

/// An address of shared memory is an offset into the own block's, or with
/// `rank + 1` in bits 24 to 31 into that of another block of the cluster. PTX
/// takes such addresses as opaque; only mapa makes them.
inline constexpr uint32_t sharedOffsetBits = 24;
inline constexpr uint32_t sharedOffsetMask = (1u << sharedOffsetBits) - 1;
constexpr uint32_t sharedAddress(uint32_t rank, uint32_t offset) {
  return (rank + 1) << sharedOffsetBits | (offset & sharedOffsetMask);
}

enum class Space : uint8_t { generic, global, shared, local, constant, param };

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_H
