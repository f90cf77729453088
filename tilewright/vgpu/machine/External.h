// Operations implemented as functions: matrices, asynchronous copies, mbarriers. One handler calls
// all of these functions; Op::extra points to their form.
#ifndef TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H
#define TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H

#include "tilewright/vgpu/machine/Warp.h"

#include <cstring>

namespace tilewright::vgpu::machine {

enum class After : uint8_t { next, resume, stop };

/// The first member of every form. `mask` is the set of lanes that execute the operation, `active`
/// the set of those whose guard is true. A `function` that parks the lanes returns `resume`.
struct ExternalForm {
  After (*function)(Warp &warp, const Op *op, std::byte *registers, uint32_t mask,
                    uint32_t active) = nullptr;
  bool converges = false; // .aligned: all lanes of the warp must be here
};

inline uint32_t word(const std::byte *registers, uint32_t slot, unsigned lane) {
  uint32_t value;
  std::memcpy(&value, registers + slot + 4 * size_t(lane), 4);
  return value;
}
inline void setWord(std::byte *registers, uint32_t slot, unsigned lane, uint32_t value) {
  std::memcpy(registers + slot + 4 * size_t(lane), &value, 4);
}
inline uint64_t longWord(const std::byte *registers, uint32_t slot, unsigned lane) {
  uint64_t value;
  std::memcpy(&value, registers + slot + 8 * size_t(lane), 8);
  return value;
}
inline void setLongWord(std::byte *registers, uint32_t slot, unsigned lane, uint64_t value) {
  std::memcpy(registers + slot + 8 * size_t(lane), &value, 8);
}
inline uint32_t predicateOf(const std::byte *registers, uint32_t slot) {
  return word(registers, slot, 0);
}

/// Notifies the observer, if any, that `lane` accesses `bytes` bytes at `address`; `space` is the
/// address space of `address`.
void observeRange(Warp &warp, const Op *op, unsigned lane, Space space, uint64_t address,
                  uint32_t bytes, AccessKind kind, Proxy proxy);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H
