// Records the calls of the process, for tests that compare ranks, and lists what was not destroyed.
#ifndef TILEWRIGHT_VGPU_NCCL_RECORD_H
#define TILEWRIGHT_VGPU_NCCL_RECORD_H

#include "tilewright/vgpu/nccl/NcclTypes.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vgpu::nccl {

/// Whether calls are recorded, in the file that the settings name or in memory.
bool isRecording();
/// Adds a call with its communicator (0: none), its rank (-1: none) and its arguments as JSON.
void record(std::string_view function, uint64_t communicator, int rank, std::string_view arguments,
            ncclResult_t result);

} // namespace tilewright::vgpu::nccl

extern "C" {
/// Turns the recording of calls in memory on (1) or off (0).
void tilewright_vgpu_nccl_record(int isOn);
/// Writes the recorded calls to `buffer`, a line of JSON for each, and forgets them. Returns the
/// length of the whole text; if that is `capacity` or more, nothing is written or forgotten.
size_t tilewright_vgpu_nccl_calls(char *buffer, size_t capacity);
/// Writes the communicators that were not destroyed and the windows that were not deregistered, a
/// line for each. Returns the length of the whole text.
size_t tilewright_vgpu_nccl_leaks(char *buffer, size_t capacity);
}

#endif // TILEWRIGHT_VGPU_NCCL_RECORD_H
