// Functions in addition to CUDA's, for tools in the same process, such as the shim for torch and
// the pytest plugin (python/tilewright/vgpu).
#ifndef TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H
#define TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H

#include <cstddef>
#include <cstdint>

extern "C" {
/// Tells the driver that the host wrote `height` rows of `width` bytes, `pitch` bytes apart, into
/// device memory.
void tilewright_vgpu_host_wrote(uint64_t begin, size_t width, size_t pitch, size_t height);
/// Writes the findings of the checks so far to `buffer`, as JSON; empty if no check is on. Returns
/// the length of the whole text; if that is `capacity` or more, the text was truncated.
size_t tilewright_vgpu_report(char *buffer, size_t capacity);
}

#endif // TILEWRIGHT_VGPU_DRIVER_HOSTTOOLS_H
