// The part of checkExecutable that looks at launches of a GPU.
#ifndef TILEWRIGHT_ARTIFACT_CHECKGPU_H
#define TILEWRIGHT_ARTIFACT_CHECKGPU_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::artifact {

/// More than any GPU has; what a certain one has is for whoever loads the program to check.
inline constexpr uint32_t maxSharedBytes = 1 << 20, maxClusterBlocks = 16;
/// Of all parameters of a kernel: buffers and tensor maps.
inline constexpr size_t maxParameterBytes = 32764;

/// `owner` names the kernel.
Status checkGpuLaunch(const GpuLaunch &launch, std::string_view owner);
/// `owner` names the step that passes `buffers`, which have been checked themselves.
Status checkGpuBuffers(const GpuLaunch &launch, std::span<const Slice> buffers,
                       std::string_view owner);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECKGPU_H
