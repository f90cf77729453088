// Reports the memory accesses of a host function that stands in for a kernel to the checkers.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVEFUNCTION_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVEFUNCTION_H

#include "tilewright/vgpu/driver/HostTools.h"

#include <span>
#include <string_view>

namespace tilewright::vgpu::driver {

class Context;

/// Launches, as part of the calling thread's work, a kernel with the function's name that reads and
/// writes the same ranges; memory does not change. Does nothing if no check is on.
void showAccesses(const Context &context, std::string_view name,
                  std::span<const tilewright_vgpu_range> ranges, bool areWritten);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_OBSERVEFUNCTION_H
