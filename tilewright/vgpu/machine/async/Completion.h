// When asynchronous operations complete.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNC_COMPLETION_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNC_COMPLETION_H

#include <cstdint>

namespace tilewright::vgpu::machine {

/// When an asynchronous operation is performed. PTX allows each of these.
enum class Completion : uint8_t {
  eager,  // at issue
  latest, // when a thread waits for it and no warp can make progress
  seeded, // at a point in between that the seed chooses
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNC_COMPLETION_H
