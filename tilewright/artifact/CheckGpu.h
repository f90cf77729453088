// The part of checkExecutable that checks GPU launches.
#ifndef TILEWRIGHT_ARTIFACT_CHECKGPU_H
#define TILEWRIGHT_ARTIFACT_CHECKGPU_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::artifact {

/// Limits that no GPU exceeds; the runtime checks those of the actual GPU when it loads the
/// program.
inline constexpr uint32_t maxSharedBytes = 1 << 20, maxClusterBlocks = 16;
/// Limit on the total size of a kernel's parameters: buffers and tensor maps.
inline constexpr size_t maxParameterBytes = 32764;

/// `owner` names the kernel.
Status checkGpuLaunch(const GpuLaunch &launch, std::string_view owner);
/// `owner` names the step that passes `buffers`; the caller has already checked the buffers
/// themselves.
Status checkGpuBuffers(const GpuLaunch &launch, std::span<const Slice> buffers,
                       std::string_view owner);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECKGPU_H
