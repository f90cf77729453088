// Loads, stores and atomic operations of one lane, shared by all instructions that access memory,
// however they compute the address.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MEMORY_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MEMORY_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

namespace tilewright::vgpu::amdgcn {

enum class MemoryKind : uint8_t { load, store, loadToLds, atomic };

/// The half of a register that an 8- or 16-bit access uses; the other half keeps its value.
enum class Half : uint8_t { none, low, high };

/// An atomic operation: computes the new value from the old one and the operands.
using AtomicFunction = u64 (*)(u64 old, u64 data, u64 second);

struct MemoryMeaning {
  std::string_view name; // without the prefix of an encoding
  MemoryKind kind;
  uint8_t bytes;
  bool isSigned = false;
  Half half = Half::none;
  AtomicFunction atomic = nullptr;
};

/// The meaning of `load_dword`, `atomic_add_x2` and so on; null if the name is unknown.
const MemoryMeaning *findMemoryMeaning(std::string_view name);
/// An atomic operation by its name in DS instructions, such as `add_u32`.
const MemoryMeaning *findLdsAtomic(std::string_view name);

/// The host memory at an address of the global segment. On an invalid address, fails the wave and
/// returns null.
std::byte *locateGlobal(Wave &wave, const Op &op, unsigned lane, uint64_t address, unsigned bytes);
/// The same for LDS, at an offset in the memory of the workgroup.
std::byte *locateLds(Wave &wave, const Op &op, unsigned lane, uint64_t offset, unsigned bytes);

/// Loads the value at `memory` into a lane of the registers that begin at `slot`.
void loadLane(Wave &wave, const MemoryMeaning &meaning, const Slot &slot, unsigned lane,
              const std::byte *memory);
void storeLane(const Wave &wave, const MemoryMeaning &meaning, const Slot &slot, unsigned lane,
               std::byte *memory);
/// Returns the old value.
u64 atomicLane(const MemoryMeaning &meaning, u64 data, u64 second, std::byte *memory);
/// One or two dwords of a lane.
u64 dwordsOf(const Wave &wave, unsigned slot, unsigned lane, unsigned bytes);
void setDwords(Wave &wave, unsigned slot, unsigned lane, unsigned bytes, u64 value);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_MEMORY_H
