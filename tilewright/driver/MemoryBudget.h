// MemoryBudget: whether the buffers of a compiled program fit into the memory of a device.
#ifndef TILEWRIGHT_DRIVER_MEMORYBUDGET_H
#define TILEWRIGHT_DRIVER_MEMORYBUDGET_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

namespace tilewright::driver {

/// Checks parameters, results, temporaries and constants together. A result in the memory of a
/// donated parameter takes none of its own.
///  - outOfMemory (E5050): they take more than `limit` bytes. The message names the largest.
Status checkDeviceMemory(const artifact::Executable &executable, int64_t limit);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_MEMORYBUDGET_H
