// Records launches, so that they can be repeated.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVERECORD_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVERECORD_H

#include "tilewright/vgpu/driver/observe/Observe.h"

namespace tilewright::vgpu::driver {

/// Before the kernel runs, writes everything that is needed to repeat the launch to the folder for
/// counts: 3-softmax.ptx with the module, .launch with the sizes and the bytes of each parameter,
/// and .memory with the allocations that parameters point into, 3 being the number of the launch.
/// Allocations are moved to a fixed address, which processes do not use otherwise, and the
/// parameters' pointers with them, also those inside tensor maps. Pointers in memory are not
/// followed. Returns null: nothing is observed while the kernel runs.
std::unique_ptr<Observation> startRecording(const LaunchFacts &facts);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVERECORD_H
