// The checks of vgpu/check as observations of launches, over the whole process.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H

#include "tilewright/vgpu/driver/Observe.h"

namespace tilewright::vgpu::driver {

/// Watches a launch with the checks that TILEWRIGHT_VGPU_CHECK names. One checker sees all
/// launches of the process, so that a place that is wrong in each of them is told once.
/// A launch does not fail for what was found: Observation::report() has it.
std::unique_ptr<Observation> startChecking(const LaunchFacts &facts);

/// The bytes before and after an allocation that nobody may touch; 0 unless bounds are
/// checked.
size_t redZoneBytes();

/// What happens to memory outside of kernels. They cost nothing while no check is on.
void tellAllocated(uint64_t begin, uint64_t bytes, bool isInitialised);
void tellFreed(uint64_t begin);
void tellWritten(const void *begin, uint64_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H
