// Checks as observations of launches.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H

#include "tilewright/vgpu/driver/Observe.h"
#include "tilewright/vgpu/machine/Allocations.h"

namespace tilewright::vgpu::driver {

/// Watches one launch with the checks that TILEWRIGHT_VGPU_CHECK names, which share
/// what they know of memory and their report across the process. What is new is
/// printed to standard error when the launch ends, or the file that
/// TILEWRIGHT_VGPU_REPORT names is written anew. Null if another name of the list has
/// started the checks of this launch already.
std::unique_ptr<Observation> startChecking(const LaunchFacts &facts);

/// Behind each range that the driver gives out, so that what lies there is nobody's.
inline constexpr size_t checkRedZone = 512;

/// The driver gave out memory, took it back, or wrote to it. Without checks these do nothing.
void checkAllocated(uint64_t begin, uint64_t bytes, machine::AllocationKind kind);
void checkFreed(uint64_t begin);
void checkWritten(const void *begin, uint64_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVECHECK_H
