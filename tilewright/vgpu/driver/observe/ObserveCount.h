// Counting as an observation of launches.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECOUNT_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECOUNT_H

#include "tilewright/vgpu/driver/observe/Observe.h"

namespace tilewright::vgpu::driver {

/// Counts one launch. With a folder for reports it writes 3-softmax.counts.txt, .counts.json
/// and .trace.json (for Perfetto) there, 3 being the number of the launch; without one it
/// prints the table to standard error.
std::unique_ptr<Observation> startCounting(const LaunchFacts &facts);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVECOUNT_H
