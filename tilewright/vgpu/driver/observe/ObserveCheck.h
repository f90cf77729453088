// Runs the checks of vgpu/check as observations of launches, for the whole process.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECHECK_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECHECK_H

#include "tilewright/vgpu/driver/observe/Observe.h"

namespace tilewright::vgpu::driver {

/// Observes a launch with the checks that TILEWRIGHT_VGPU_CHECK names. One checker observes all
/// launches of the process, so that an error that occurs in every launch is reported once. A
/// finding does not make the launch fail: Observation::report() returns it. Null if no check is on.
std::unique_ptr<Observation> startChecking();

/// Whether out-of-bounds accesses are findings. If so, a launch should not stop at the first one.
bool areBoundsChecked();
/// Whether races are checked, which needs the order between streams.
bool areRacesChecked();

/// These functions report memory changes outside of kernels to the checker. They do nothing while
/// no check is on.
void tellAllocated(uint64_t begin, uint64_t bytes, bool isInitialised);
void tellFreed(uint64_t begin);
/// The findings of this process so far, as JSON; empty if no check is on.
std::string checkReportJson();
void tellWritten(const void *begin, uint64_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECHECK_H
