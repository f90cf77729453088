// isspacep of spaces that have no window of their own: constants and parameters
// are memory of the host, so what tells them apart is where they lie.
#ifndef TILEWRIGHT_VGPU_MACHINE_SPACES_H
#define TILEWRIGHT_VGPU_MACHINE_SPACES_H

#include "tilewright/vgpu/machine/External.h"

#include <utility>
#include <vector>

namespace tilewright::vgpu::machine {

struct SpaceForm {
  ExternalForm head;
  Space space = Space::global;                          // global, constant or param
  uint32_t d = 0, a = 0;                                // slots: a predicate, an address
  std::vector<std::pair<uint64_t, uint64_t>> constants; // begin and end
};
After runIsSpace(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_SPACES_H
