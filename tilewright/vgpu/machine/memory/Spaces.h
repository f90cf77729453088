// isspacep for spaces without their own window: constants and parameters are host memory, so only
// their address ranges distinguish them.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_SPACES_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_SPACES_H

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

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_SPACES_H
