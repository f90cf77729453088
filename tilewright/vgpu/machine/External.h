// Operations that are functions of their own: matrices, asynchronous copies,
// mbarriers. One handler calls them all; their form is Op::extra.
#ifndef TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H
#define TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H

#include "tilewright/vgpu/machine/Warp.h"

#include <cstring>

namespace tilewright::vgpu::machine {

enum class After : uint8_t { next, resume, stop };

/// What every form begins with. `mask` are the lanes at the operation, `active`
/// those whose guard holds. `resume` asks that the lanes were parked.
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

/// Tells the observer, if there is one, that `lane` accesses `bytes` from `address`
/// on; `space` says whose address it is.
void observeRange(Warp &warp, const Op *op, unsigned lane, Space space, uint64_t address,
                  uint32_t bytes, AccessKind kind, Proxy proxy);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_EXTERNAL_H
