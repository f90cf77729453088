// SMEM: loads into scalar registers.
#include "tilewright/vgpu/amdgcn/execute/Memory.h"

#include <chrono>
#include <cstring>

namespace tilewright::vgpu::amdgcn {

/// The offset of an access: an immediate, a register, or both.
static uint64_t offsetOf(const Wave &wave, const Op &op) {
  const Slot &slot = op.sources[1];
  const uint64_t immediate =
      static_cast<uint64_t>(static_cast<int64_t>(op.instruction.memory.offset));
  return slot.kind == SlotKind::scalar ? immediate + wave.scalars[slot.index] : immediate;
}

static void load(Wave &wave, const Op &op) {
  // The address is rounded down to a dword.
  const uint64_t address = (wave.scalar64(op.sources[0].index) + offsetOf(wave, op)) & ~uint64_t(3);
  const unsigned bytes = op.destination.dwords * 4u;
  if (const std::byte *memory = locateGlobal(wave, op, 0, address, bytes))
    std::memcpy(&wave.scalars[op.destination.index], memory, bytes);
}

/// Loads through a buffer descriptor; dwords beyond the buffer's end are 0.
static void loadBuffer(Wave &wave, const Op &op) {
  const uint32_t *words = &wave.scalars[op.sources[0].index];
  const uint64_t base = words[0] | uint64_t(words[1] & 0xffff) << 32;
  const uint64_t stride = words[1] >> 16 & 0x3fff;
  const uint64_t end = stride == 0 ? words[2] : stride * words[2];
  const uint64_t first = offsetOf(wave, op) & ~uint64_t(3);
  std::array<uint32_t, 16> values{};
  for (unsigned dword = 0; dword < op.destination.dwords; ++dword) {
    const uint64_t offset = first + 4u * dword;
    if (offset + 4 > end)
      continue;
    const std::byte *memory = locateGlobal(wave, op, 0, base + offset, 4);
    if (!memory)
      return;
    std::memcpy(&values[dword], memory, 4);
  }
  std::memcpy(&wave.scalars[op.destination.index], values.data(), op.destination.dwords * 4u);
}

static void readClock(Wave &wave, const Op &op) {
  writeScalar(wave, op.destination,
              static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
}
static void nothing(Wave &, const Op &) {}

bool chooseScalarMemory(Op &op) {
  const std::string_view name = op.instruction.row->name;
  if (name.starts_with("s_load_dword"))
    op.run = load;
  else if (name.starts_with("s_buffer_load_dword"))
    op.run = loadBuffer;
  else if (name == "s_memtime" || name == "s_memrealtime")
    op.run = readClock;
  else if (name.starts_with("s_dcache_inv") || name.starts_with("s_dcache_wb"))
    op.run = nothing;
  else
    return false;
  return true;
}

} // namespace tilewright::vgpu::amdgcn
