// The two ways in which nvcc compresses parts of a fat binary.
#ifndef TILEWRIGHT_VGPU_DRIVER_DECOMPRESS_H
#define TILEWRIGHT_VGPU_DRIVER_DECOMPRESS_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>
#include <string>

namespace tilewright::vgpu::driver {

/// An LZ4 block, of `nvcc --compress-mode=speed` and of CUDA before 12.4.
///  - vgpuBinary: it is damaged, or is not `bytes` long.
Result<std::string> unpackLz4(std::span<const std::byte> packed, size_t bytes);

/// A Zstandard frame, of other modes. Needs libzstd.so.1 when the program runs.
///  - vgpuBinary: it is damaged, or is not `bytes` long, or there is no libzstd.
Result<std::string> unpackZstd(std::span<const std::byte> packed, size_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_DECOMPRESS_H
