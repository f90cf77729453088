// The compression formats of fat binaries (nvcc) and bundles (clang).
#ifndef TILEWRIGHT_VGPU_DECOMPRESS_DECOMPRESS_H
#define TILEWRIGHT_VGPU_DECOMPRESS_DECOMPRESS_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace tilewright::vgpu::decompress {

/// Unpacks an LZ4 block, the format of `nvcc --compress-mode=speed` and of CUDA before 12.4.
///  - vgpuBinary: the block is damaged, or does not unpack to `bytes`.
Result<std::string> unpackLz4(std::span<const std::byte> packed, size_t bytes);

/// Unpacks a Zstandard frame, the format of nvcc's other compression modes and of clang. Needs
/// libzstd.so.1 at run time.
///  - vgpuBinary: the frame is damaged, does not unpack to `bytes`, or libzstd is not installed.
Result<std::string> unpackZstd(std::span<const std::byte> packed, size_t bytes);

} // namespace tilewright::vgpu::decompress

#endif // TILEWRIGHT_VGPU_DECOMPRESS_DECOMPRESS_H
