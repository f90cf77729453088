// When asynchronous operations happen.
#ifndef TILEWRIGHT_VGPU_MACHINE_COMPLETION_H
#define TILEWRIGHT_VGPU_MACHINE_COMPLETION_H

#include <cstdint>

namespace tilewright::vgpu::machine {

/// When an asynchronous operation does what it does. PTX allows all of them.
enum class Completion : uint8_t {
  eager,  // when it is issued
  latest, // when somebody waits for it and nothing else can go on
  seeded, // at a point that the seed chooses in between
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_COMPLETION_H
